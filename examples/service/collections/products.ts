import { Type } from '@sinclair/typebox'
import { define } from 'fastify-collections'
import { bulk } from 'fastify-collections/bulk'
import type { Database } from '../database.ts'
import { formats } from '../formats.ts'

const Product = Type.Object(
  {
    sku: Type.String({ pattern: '^[a-z0-9-]+$', maxLength: 50, examples: ['loom-3', 'loom-4'] }),
    name: Type.String({ minLength: 1, maxLength: 200 }),
    price: Type.String({ pattern: '^[0-9]{1,9}\\.[0-9]{2}$', description: 'In euro', examples: ['199.00'] }),
    stock: Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 }),
    updatedAt: Type.String({ format: 'date-time', readOnly: true })
  },
  { title: 'Product' }
)

const table = { name: 'products', schema: Product, id: { property: 'sku', generate: 'client' } } as const

export async function products ({ storage }: Database) {
  await storage.createTable(table)
  return define({ ...table, storage, formats, list: { search: ['name'] }, etag: { required: true } }).with(
    bulk({ maximum: 1000 })
  )
}

export const firstProducts = [
  { sku: 'card-100', name: 'A hundred punched cards', price: '4.90', stock: 250 },
  { sku: 'loom-3', name: 'Loom', price: '199.00', stock: 3 }
] as const

export function furtherProduct (number: number) {
  return {
    sku: `part-${String(number).padStart(7, '0')}`,
    name: `Part ${number}`,
    price: `${number % 1000}.50`,
    stock: number % 100
  }
}

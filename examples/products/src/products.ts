import { Type } from '@sinclair/typebox'
import { define, json, problem } from 'fastify-collections'
import { action } from 'fastify-collections/action'
import { xml } from 'fastify-collections/xml'
import { bulk } from 'fastify-collections/bulk'
import { idempotency } from 'fastify-collections/idempotency'
import type { createAuthenticate } from './callers.ts'
import type { Database } from './database.ts'

const Product = Type.Object({
  sku: Type.String({ pattern: '^[a-z0-9-]+$', maxLength: 50 }),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  // Decimals are strings in JSON: a number would be parsed as a floating-point number. Clients can filter by it, but
  // not sort by it: as a string, '10.00' comes before '9.90'.
  price: Type.String({ pattern: '^[0-9]{1,9}\\.[0-9]{2}$' }),
  stock: Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

const Purchase = Type.Object({ quantity: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 1 })) })

const Receipt = Type.Object({
  sku: Type.String(),
  quantity: Type.Integer(),
  total: Type.String(),
  left: Type.Integer()
})

/** Multiplies a price in cents, so that it stays exact. */
function multiply (price: string, quantity: number): string {
  const cents = String(BigInt(price.replace('.', '')) * BigInt(quantity)).padStart(3, '0')
  return `${cents.slice(0, -2)}.${cents.slice(-2)}`
}

/** The migrations create the table, so its columns are described here. */
export function openProducts (database: Database) {
  return database.storage({ columns: 'snake_case', version: { column: 'version', as: 'random' } })
}

export function defineProducts (database: Database, authenticate: ReturnType<typeof createAuthenticate>) {
  return define({
    name: 'products',
    schema: Product,
    id: { property: 'sku', generate: 'client' },
    storage: openProducts(database),
    formats: [json, xml],
    access: {
      authenticate,
      challenge: 'Bearer realm="products"',
      // Everyone may read and buy. Everything else is for callers with the key.
      allow: { list: 'public', read: 'public', all: 'authenticated' }
    },
    // PUT, PATCH and DELETE require If-Match.
    etag: { required: true },
    list: { search: ['name'] }
  })
    .with(bulk({ maximum: 500 }), idempotency())
    .with(action('purchase', {
      input: Purchase,
      output: Receipt,
      allow: 'public',
      // It checks the current stock itself, so buyers need not read the product first.
      etag: { required: false },
      run ({ item, input: { quantity = 1 } }) {
        const left = item.stock - quantity
        if (left < 0) throw problem('conflict', { detail: 'The stock is not sufficient.' })
        const total = multiply(item.price, quantity)
        return { item: { ...item, stock: left }, output: { sku: item.sku, quantity, total, left } }
      }
    }))
}

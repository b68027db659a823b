import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { batch } from '../../../lib/doors/batch/batch.ts'
import type { BatchOptions } from '../../../lib/doors/batch/batch.ts'
import { action } from '../../../lib/features/action.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import collection, { define } from '../../../lib/index.ts'
import { registry } from '../../../lib/app/registry.ts'
import type { AccessOptions, Definition, HookOptions } from '../../../lib/index.ts'
import type { Shape, Storage } from '../../../lib/storage/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { logged } from '../../app.ts'

// The collections of most tests of batches: orders with lines, and a stock.

export const Order = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  customer: Type.Integer(),
  status: Type.String({ default: 'open' }),
  margin: Type.Optional(Type.Number()),
  note: Type.Optional(Type.String({ writeOnly: true })),
  tags: Type.Optional(Type.Array(Type.String()))
})

export const Line = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  orderId: Type.String({ format: 'uuid' }),
  sku: Type.String(),
  quantity: Type.Integer({ minimum: 1 })
})

export const Stock = Type.Object({ id: Type.String({ maxLength: 40 }), left: Type.Integer({ minimum: 0 }) })

interface ShopOptions {
  readonly access?: Pick<AccessOptions, 'authenticate' | 'allow'>
  readonly hooks?: HookOptions<{ id: string, left: number }>
  readonly storage?: <Item extends object>(shape: Shape) => Storage<Item>
}

export function defineShop ({ access, hooks, storage = memory() }: ShopOptions = {}) {
  const common = { storage, ...access && { access } }
  const orders = define({
    ...common,
    name: 'orders',
    schema: Order,
    list: { filter: ['status', 'customer'] }
  }).with(
    idempotency(),
    action('submit', { run: ({ item }) => ({ ...item, status: 'submitted' }) }),
    action('sum', {
      on: 'collection',
      safe: true,
      output: Type.Object({ count: Type.Integer() }),
      run: async ({ collection }) => ({ output: { count: (await readItems(collection.list())).length } })
    })
  )
  const lines = define({ ...common, name: 'lines', schema: Line, list: { filter: ['orderId', 'sku'] } })
  const stock = define({
    ...common,
    name: 'stock',
    schema: Stock,
    id: { generate: 'client' },
    put: { create: true },
    ...hooks && { hooks }
  })
  return { orders, lines, stock }
}

interface Closing {
  after (close: () => Promise<unknown>): void
}

/** Serves the collections and a batch of them. */
export async function serveShop (
  t: Closing,
  definitions: Readonly<Record<string, Definition>>,
  options: Partial<BatchOptions> = {}
): Promise<FastifyInstance & { readonly lines: ReadonlyArray<Record<string, unknown>> }> {
  const { lines, logger } = logged()
  const app: FastifyInstance = Fastify({ logger })
  t.after(() => app.close())
  await app.register(registry)
  const collections = Object.values(definitions)
  for (const definition of collections) await app.register(collection, definition)
  await app.register(batch, { collections, ...options })
  await app.ready()
  return Object.assign(app, { lines })
}

interface SendOptions {
  readonly headers?: Record<string, string>
  readonly url?: string
}

/** Sends a batch. */
export async function sendBatch (
  app: FastifyInstance,
  payload: unknown,
  { headers = {}, url = '/batch' }: SendOptions = {}
): Promise<LightMyRequestResponse> {
  return app.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload)
  })
}

/** The items of a collection, as the app itself reads them. */
export async function readAll<Item extends object> (app: FastifyInstance, definition: Definition<Item, unknown>) {
  return readItems(app.collection(definition).list())
}

async function readItems<Item> (entries: AsyncIterable<{ readonly item: Item }>): Promise<Item[]> {
  const items: Item[] = []
  for await (const { item } of entries) items.push(item)
  return items
}

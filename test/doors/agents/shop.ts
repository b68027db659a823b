import { Type } from '@sinclair/typebox'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { CallToolResult } from '@modelcontextprotocol/client'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { batch } from '../../../lib/doors/batch/batch.ts'
import { mcp } from '../../../lib/doors/agents/mcp.ts'
import type { McpOptions } from '../../../lib/doors/agents/mcp.ts'
import { action } from '../../../lib/features/action.ts'
import { aggregates } from '../../../lib/features/aggregates.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import collection, { define } from '../../../lib/index.ts'
import type { AccessOptions, Definition } from '../../../lib/index.ts'
import { registry } from '../../../lib/app/registry.ts'
import type { Shape, Storage } from '../../../lib/storage/index.ts'
import { memory } from '../../../lib/storage/memory.ts'

// A shop with three kinds of callers: boss (all), clerk (no prices, no removal), anonymous (reads products).

interface Closing {
  after (close: () => Promise<unknown>): void
}

export const Product = Type.Object({
  id: Type.String({ maxLength: 4 }),
  name: Type.String({ maxLength: 100, description: 'As customers see it.' }),
  price: Type.Optional(Type.Number({ minimum: 0, description: 'In euros.' })),
  kind: Type.Optional(Type.Union([Type.Literal('tea'), Type.Literal('coffee')])),
  stock: Type.Integer({ default: 0 })
}, { description: 'What the shop sells.' })

export const authenticate: NonNullable<AccessOptions['authenticate']> = ({ request }) => {
  const [, caller] = /^Bearer (.*)$/.exec(request.headers.authorization ?? '') ?? []
  if (caller === 'wrong') throw new Error('no such caller')
  return caller
}

const Count = Type.Object({ count: Type.Integer({ minimum: 1, description: 'How many.' }) })

/** What all storages of the tests are. */
type AnyStorage = <Item extends object>(shape: Shape) => Storage<Item>

export interface ProductsOptions {
  readonly storage?: AnyStorage
  /** In milliseconds. */
  readonly lease?: number
  /** Called by the action `sell`, before it returns. */
  readonly onSell?: () => Promise<void>
}

export function defineProducts ({ storage = memory(), lease = 30_000, onSell }: ProductsOptions = {}) {
  return define({
    name: 'products',
    schema: Product,
    id: { generate: 'client' },
    storage,
    access: {
      authenticate,
      allow: { all: 'authenticated', list: 'public', read: 'public', remove: ({ caller }) => caller === 'boss' },
      visible: { price: ({ caller }) => caller === 'boss' }
    }
  }).with(
    idempotency({ lease }),
    aggregates({ by: ['kind'], of: { price: ['sum'], stock: ['sum'] } }),
    action('restock', {
      description: 'Adds to the stock.',
      input: Count,
      etag: { required: false },
      run: ({ item, input: { count } }) => ({ ...item, stock: item.stock + count })
    }),
    action('sell', {
      input: Type.Object({ count: Type.Integer({ minimum: 1 }), price: Type.Optional(Type.Number()) }),
      async run ({ item, input: { count } }) {
        await onSell?.()
        return { ...item, stock: item.stock - count }
      }
    }),
    action('count', {
      on: 'collection',
      safe: true,
      output: Type.Object({ count: Type.Integer() }),
      run: async () => ({ output: { count: 7 } })
    })
  )
}

interface ShopOptions extends Partial<McpOptions> {
  readonly definitions?: readonly Definition[]
}

/** Serves the collections over HTTP, from code, in batches and to agents. */
export async function serveShop (
  t: Closing,
  { definitions = [defineProducts()], ...options }: ShopOptions = {}
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of definitions) await app.register(collection, definition)
  await app.register(batch, { collections: definitions })
  await app.register(mcp, { collections: definitions, ...options })
  return app
}

export interface Agent {
  readonly client: Client
  /** Calls a tool. `value` is the result. */
  call (name: string, given?: Record<string, unknown>): Promise<AgentResult>
}

export interface AgentResult extends CallToolResult {
  /** The structured content, which is the same as the text. */
  readonly value: Record<string, any>
}

type Fetch = typeof fetch

/** Connects the official client, as a caller. */
export async function connect (t: Closing, url: string, caller?: string, send?: Fetch): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: caller === undefined ? {} : { authorization: `Bearer ${caller}` } },
    ...send && { fetch: send }
  })
  await client.connect(transport)
  t.after(() => client.close())
  return {
    client,
    async call (name, given = {}) {
      const result = await client.callTool({ name, arguments: given }) as CallToolResult
      return { ...result, value: result.structuredContent as Record<string, unknown> }
    }
  }
}

export function listen (app: FastifyInstance): Promise<string> {
  return app.listen({ port: 0, host: '127.0.0.1' })
}

import Fastify from 'fastify'
import type {
  FastifyInstance,
  FastifyServerOptions,
  InjectOptions,
  LightMyRequestResponse,
  RegisterOptions
} from 'fastify'
import { Type } from '@sinclair/typebox'
import collection, { define, json } from '../lib/index.ts'
import { hal } from '../lib/formats/hal.ts'
import { xml } from '../lib/formats/xml.ts'
import type { Definition, Options } from '../lib/index.ts'
import type { Storage } from '../lib/storage/index.ts'
import { serverOptions, service } from '../lib/app/service.ts'
import type { ServiceOptions } from '../lib/app/service.ts'
import { memory } from '../lib/storage/memory.ts'

// The app of most tests: users, with every kind of property that matters for HTTP.

export const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String({ format: 'email' }),
  name: Type.String({ minLength: 1 }),
  age: Type.Optional(Type.Integer({ minimum: 0 })),
  role: Type.String({ default: 'reader' }),
  password: Type.Optional(Type.String({ writeOnly: true })),
  address: Type.Optional(Type.Object({ city: Type.String(), zip: Type.Optional(Type.String()) })),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

const formats = [json, hal, xml]

/** Without properties that the server sets, so that a PUT can store exactly what was sent. */
export const Note = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  text: Type.String({ maxLength: 1_000_000 }),
  marks: Type.Optional(Type.Record(Type.String(), Type.Integer()))
})

export function users (options: Partial<Options<typeof User>> = {}): Definition {
  return define({
    name: 'users',
    schema: User,
    unique: ['email'],
    storage: memory(),
    formats,
    ...options
  })
}

export function notes (options: Partial<Options<typeof Note>> = {}): Definition {
  return define({ name: 'notes', schema: Note, storage: memory(), formats, ...options })
}

/** What `app.register()` accepts beside the plugin: a definition, with a prefix if it has one. */
export type Registration = Definition & RegisterOptions

interface Closing {
  after(close: () => Promise<unknown>): void
}

interface BuildOptions extends FastifyServerOptions {
  /** Options of the plugin `service`, which is registered with them. */
  service?: ServiceOptions
}

/** The service without its own routes and checks. */
export const withoutPaths: ServiceOptions = {
  home: false,
  health: { live: false, ready: false },
  audit: false
}

/** An app that serves the collections; it is closed when the test ends. */
export async function build (
  t: Closing,
  collections: Registration | readonly Registration[],
  { service: info, ...options }: BuildOptions = {}
): Promise<FastifyInstance> {
  const own = { forceCloseConnections: true, ...options }
  const app = Fastify(info === undefined ? own : serverOptions(own))
  t.after(() => app.close())
  if (info !== undefined) await app.register(service, { ...withoutPaths, ...info })
  for (const definition of [collections].flat()) await app.register(collection, definition)
  return app
}

/** A logger that collects its lines as objects. */
export function logged (): {
  lines: Array<Record<string, unknown>>
  logger: { level: string; stream: { write(line: string): void } }
} {
  const lines: Array<Record<string, unknown>> = []
  return {
    lines,
    logger: {
      level: 'error',
      stream: {
        write: (line) => {
          lines.push(JSON.parse(line))
        }
      }
    }
  }
}

export const ada = { email: 'ada@example.com', name: 'Ada' }

export function payload (
  content: unknown,
  type = 'application/json'
): { payload: string | Buffer; headers: Record<string, string> } {
  return {
    payload: typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content),
    headers: { 'content-type': type }
  }
}

/** Sends a request with content and other headers. */
export async function request (
  app: FastifyInstance,
  target: string,
  {
    content,
    type,
    fields,
    ...rest
  }: Omit<InjectOptions, 'headers' | 'payload'> & {
    content?: unknown
    type?: string
    fields?: Record<string, string | string[]>
  } = {}
): Promise<LightMyRequestResponse> {
  const [method, url] = target.split(' ') as ['GET', string]
  const body = content === undefined ? undefined : payload(content, type)
  return app.inject({
    method,
    url,
    ...body && { payload: body.payload },
    headers: { ...body?.headers, ...fields },
    ...rest
  })
}

/** Creates an item with POST, and returns its URL and its entity tag. */
export async function created (
  app: FastifyInstance,
  url: string,
  content: unknown
): Promise<{ at: string; tag: string; item: Record<string, unknown> }> {
  const answer = await request(app, `POST ${url}`, { content })
  if (answer.statusCode !== 201) throw new Error(answer.payload)
  return { at: String(answer.headers.location), tag: String(answer.headers.etag), item: answer.json() }
}

/** A storage with some methods replaced. */
export function modified (change: (storage: Storage<object>) => Partial<Storage<object>>) {
  return (shape: Parameters<ReturnType<typeof memory>>[0]): Storage<never> => {
    const storage = memory()<object>(shape)
    return { ...storage, ...change(storage) } as Storage<never>
  }
}

/** A promise that the test resolves with `open()`. */
export function gate (): { open: () => void; opened: Promise<void> } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

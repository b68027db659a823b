import type { AddressInfo } from 'node:net'
import compress from '@fastify/compress'
import Fastify from 'fastify'
import type { onRequestHookHandler, onSendHookHandler } from 'fastify'
import { Type } from '@sinclair/typebox'
import collection, { problem } from '../../lib/index.ts'
import { batch } from '../../lib/doors/batch/batch.ts'
import type { Definition, Options } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { define } from '../define.ts'

// The app behind the cache, which records the requests that it receives.

export interface ReceivedRequest {
  readonly line: string
  /** Whether there was an If-None-Match. */
  readonly conditional: boolean
  readonly status: number
}

export interface Origin {
  readonly port: number
  /** Returns the requests since the last call. */
  takeRequests(): ReceivedRequest[]
  close(): Promise<void>
}

const Note = Type.Object({
  id: Type.String({ pattern: '^[a-z0-9-]+$' }),
  text: Type.String(),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

const Story = Type.Object({
  id: Type.String({ pattern: '^[a-z0-9-]+$' }),
  text: Type.String(),
  editorId: Type.String(),
  writerId: Type.Optional(Type.String())
})

/** Stories and writers that caches may keep for a minute, and editors that they must not store. */
function stories (): readonly Definition[] {
  const one = memory()
  return Object.values(relate({
    editors: notes('editors', { cache: 'no-store', storage: one }),
    writers: notes('writers', { cache: 'public, max-age=60', storage: one }),
    stories: define({ name: 'stories', schema: Story, id: { generate: 'client' }, storage: one, cache: 'public, max-age=60' })
  }, {
    stories: {
      editor: { to: 'editors', property: 'editorId' },
      writer: { to: 'writers', property: 'writerId' }
    }
  }))
}

function notes (name: string, options: Partial<Options<typeof Note>>): Definition {
  return define({ name, schema: Note, id: { generate: 'client' }, storage: memory(), ...options })
}

/** Names the caller in every response, so that a response replayed to another caller is detected. */
const addCaller: onRequestHookHandler = async function (request, reply) {
  const { authorization, cookie } = request.headers
  const caller = /^(?:Bearer |session=)(ada|bob)$/.exec(authorization ?? cookie ?? '')?.[1]
  if (caller === undefined) throw problem('unauthenticated', { headers: { 'www-authenticate': 'Bearer' } })
  reply.header('x-caller', caller)
}

/** With `compressing`, the app compresses its responses itself. */
export async function startOrigin ({ compressing = false } = {}): Promise<Origin> {
  let visitors = 0
  const setCookie: onSendHookHandler = async function (_request, reply) {
    if (reply.statusCode === 200) reply.header('set-cookie', `visitor=${++visitors}`)
  }
  const app = Fastify({ forceCloseConnections: true })
  let requests: ReceivedRequest[] = []
  app.addHook('onSend', async ({ method, url, headers }, { statusCode }) => {
    requests.push({ line: `${method} ${url}`, conditional: headers['if-none-match'] !== undefined, status: statusCode })
  })
  if (compressing) await app.register(compress, { encodings: ['gzip', 'br'], threshold: 100 })
  const inBatch = [notes('news', { cache: 'public, max-age=60' }), ...stories()]
  for (const definition of [
    ...inBatch,
    notes('notes', {}),
    notes('diaries', { routes: { all: { onRequest: addCaller } } }),
    notes('journals', { routes: { all: { onRequest: addCaller } }, cache: 'private, max-age=60' }),
    notes('visits', { routes: { all: { onSend: setCookie } } })
  ]) {
    await app.register(collection, definition)
  }
  await app.register(batch, { collections: inBatch })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    port: (app.server.address() as AddressInfo).port,
    takeRequests () {
      const received = requests
      requests = []
      return received
    },
    close: () => app.close()
  }
}

// The limit: node:http alone, no routing, no validation, no storage. Every response was created before by the library.
import { createServer, type OutgoingHttpHeader } from 'node:http'
import type { InjectOptions } from 'fastify'
import { memory } from '../../lib/storage/memory.ts'
import { filterCount, own } from '../dialects.ts'
import { buildInvalid } from '../scenarios.ts'
import { seed, seedId } from '../user.ts'
import { add, open } from './ours.ts'

interface Canned {
  status: number
  fields: OutgoingHttpHeader[]
  content: string
}

/** Headers that node:http adds itself. */
const added = new Set(['date', 'connection', 'keep-alive'])

async function can () {
  const app = open()
  add(app, 'users', memory({ items: Array.from({ length: 1000 }, (_, number) => seed(number)) }))
  const ask = async (request: InjectOptions): Promise<Canned> => {
    const { statusCode, headers, body } = await app.inject(request)
    const fields = Object.entries(headers).flatMap(([name, value]) =>
      added.has(name) || value === undefined ? [] : [name, value]
    )
    return { status: statusCode, fields, content: body }
  }
  const first = `/users/${seedId(0)}`
  const get = new Map<string, Canned>()
  for (let number = 0; number < 1000; number++) {
    get.set(`/users/${seedId(number)}`, await ask({ url: `/users/${seedId(number)}` }))
  }
  for (let filter = 0; filter < filterCount; filter++) {
    for (const url of [own.list(filter), own.filtered(filter)]) get.set(url, await ask({ url }))
  }
  const {
    headers: { etag = '' }
  } = await app.inject(first)
  const content = { email: 'new0@example.com', name: 'A changed name', password: 'correct horse battery staple' }
  const answers = {
    get,
    missing: await ask({ url: own.missing(0) }),
    notModified: await ask({ url: first, headers: { 'if-none-match': String(etag) } }),
    invalid: await ask({
      method: 'POST',
      url: '/users',
      headers: { 'content-type': 'application/json' },
      payload: buildInvalid(0)
    }),
    POST: await ask({ method: 'POST', url: '/users', payload: content }),
    PUT: await ask({
      method: 'PUT',
      url: first,
      payload: { ...content, email: 'user0@example.com', name: 'A changed name 0' }
    }),
    PATCH: await ask({ method: 'PATCH', url: first, payload: { name: 'Name 0' } }),
    DELETE: await ask({ method: 'DELETE', url: first })
  }
  await app.close()
  return answers
}

export async function start () {
  const canned = await can()
  const server = createServer({ keepAliveTimeout: 72_000 }, (request, response) => {
    const send = ({ status, fields, content }: Canned) => response.writeHead(status, fields).end(content)
    const { method, url = '' } = request
    switch (method) {
      case 'GET':
        if (request.headers['if-none-match'] !== undefined) return send(canned.notModified)
        return send(canned.get.get(url) ?? canned.missing)
      case 'POST':
      case 'PUT':
      case 'PATCH': {
        let content = ''
        request.setEncoding('utf8')
        request.on('data', (part: string) => {
          content += part
        })
        request.on('end', () => {
          send(JSON.parse(content).email?.startsWith('not an address') ? canned.invalid : canned[method])
        })
        return
      }
      default:
        return send(canned.DELETE)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

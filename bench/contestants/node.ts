// The limit: node:http alone, no routing, no validation, no storage, every answer made beforehand.
import { createServer, type OutgoingHttpHeader } from 'node:http'
import { seed, seedId } from '../user.ts'

interface Canned { status: number, fields: OutgoingHttpHeader[], content: string }

const common = ['cache-control', 'no-cache', 'vary', 'Accept', 'x-content-type-options', 'nosniff']

function canned (status: number, fields: string[], content = ''): Canned {
  const length = content === '' ? [] : ['content-length', Buffer.byteLength(content)]
  return { status, fields: [...common, ...fields, ...length], content }
}

function visible (number: number) {
  const { password, ...rest } = seed(number)
  return rest
}

const json = ['content-type', 'application/json']
const items = new Map(Array.from({ length: 1000 }, (_, number) =>
  [`/users/${seedId(number)}`, canned(200, [...json, 'etag', '"1"'], JSON.stringify(visible(number)))]))
const list = canned(200, [...json, 'etag', '"2jmj7l5rSw0yVb_vlWAYkK_YBwk"', 'link', `</users?limit=20&after=${seedId(19)}>; rel="next"`],
  JSON.stringify(Array.from({ length: 20 }, (_, number) => visible(number))))
const location = `/users/${seedId(0)}`
const created = canned(201, [...json, 'etag', '"1"', 'location', location, 'content-location', location], JSON.stringify(visible(0)))
const changed = canned(200, [...json, 'content-location', location], JSON.stringify(visible(0)))
const notModified = canned(304, ['etag', '"1"'])
const removed = canned(204, [])
const notFound = canned(404, ['content-type', 'application/problem+json'],
  JSON.stringify({ type: 'about:blank', title: 'Not Found', status: 404, instance: location }))
const invalid = canned(422, ['content-type', 'application/problem+json'], JSON.stringify({
  type: 'about:blank',
  title: 'Unprocessable Content',
  status: 422,
  instance: '/users',
  errors: [
    { pointer: '/email', detail: 'must match format "email"' },
    { pointer: '/name', detail: 'must NOT have fewer than 1 characters' }
  ]
}))

export async function start () {
  const server = createServer({ keepAliveTimeout: 72_000 }, (request, response) => {
    const send = ({ status, fields, content }: Canned) => response.writeHead(status, fields).end(content)
    const url = request.url ?? ''
    switch (request.method) {
      case 'GET':
        if (request.headers['if-none-match'] !== undefined) return send(notModified)
        return send(url.startsWith('/users?') ? list : items.get(url) ?? notFound)
      case 'DELETE':
        return send(removed)
      default: {
        let content = ''
        request.setEncoding('utf8')
        request.on('data', (part: string) => { content += part })
        request.on('end', () => {
          const { email } = JSON.parse(content)
          if (email === 'not an address') send(invalid)
          else send(request.method === 'POST' ? created : changed)
        })
      }
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}

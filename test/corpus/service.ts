import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import collection, { json } from '../../lib/index.ts'
import { serverOptions, service } from '../../lib/app/service.ts'
import { xml } from '../../lib/formats/xml.ts'
import type { Collection } from '../../lib/engine/collection.ts'
import { html } from '../../lib/formats/html.ts'
import { memory } from '../../lib/storage/memory.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { redirects } from '../../lib/features/redirects.ts'
import { ada, notes, pages, User, users } from './collections.ts'
import type { Area } from './recorder.ts'
import { define } from '../define.ts'

export const serviceDocuments: Area = async (recorder) => {
  const app = Fastify(serverOptions({ forceCloseConnections: true }))
  app.register(collection, users())
  app.register(collection, { ...pages(), prefix: '/v1' } as Collection)
  app.register(service, {
    title: 'Corpus',
    description: '/openapi.json',
    problems: 'https://example.com/problems/'
  })
  await recorder.use(app)
  const home = await recorder.send('GET /')
  await recorder.send('GET /', { headers: { 'if-none-match': home.etag } })
  for (const target of ['/', '/healthz', '/readyz']) {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) await recorder.send(`${method} ${target}`)
    await recorder.send(`GET ${target}`, { headers: { accept: 'image/png' } })
  }
  await recorder.send('GET /nothing')
  await recorder.send('GET /%zz')
}

export const openapi: Area = async (recorder) => {
  const app = Fastify({ forceCloseConnections: true })
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Corpus', version: '1.0.0' } } })
  app.register(
    collection,
    define({
      name: 'users',
      schema: User,
      storage: memory(),
      unique: ['email'],
      list: { search: ['name'] },
      put: { create: true },
      access: { authenticate: () => undefined, allow: { all: 'public', remove: 'authenticated' } }
    })
      .with(bulk(), idempotency(), timeout(1000)) as unknown as Collection
  )
  app.register(collection, pages({ actions: ['list', 'read'], formats: [json], etag: { required: true } }))
  app.register(
    collection,
    notes({ cache: 'max-age=1' }).with(
      softDelete({ property: 'deletedAt', allow: () => true }),
      redirects({ to: () => undefined })
    )
  )
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json').send(JSON.stringify(app.swagger(), undefined, 1))
  )
  await recorder.use(app)
  await recorder.send('GET /openapi.json')
}

export const htmlPages: Area = async (recorder) => {
  await recorder.serve([
    users({ formats: [json, xml, html], list: { search: ['name'] } }),
    notes({ formats: [json, html] }).with(softDelete({ property: 'deletedAt' }))
  ])
  const browser = { accept: 'text/html' }
  const { location } = await recorder.send('POST /users', { content: { ...ada, name: '<b>Ada</b>', tags: ['x'] } })
  const page = await recorder.send(`GET ${location}`, { headers: browser })
  await recorder.send(`GET ${location}`, { headers: { ...browser, 'if-none-match': page.etag } })
  await recorder.send(`HEAD ${location}`, { headers: browser })
  await recorder.send('GET /users?limit=1&name=', { headers: browser })
  await recorder.send('GET /users?unknown=1', { headers: browser })
  await recorder.send('GET /users/none', { headers: browser })
  await recorder.send(`PATCH ${location}`, { content: { age: 7 }, headers: { ...browser, 'if-match': page.etag } })
  await recorder.send('GET /notes', { headers: browser })
  await recorder.send('POST /notes', { content: {}, headers: browser })
}

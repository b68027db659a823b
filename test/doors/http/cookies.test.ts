import cookie from '@fastify/cookie'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import collection from '../../../lib/index.ts'
import { service } from '../../../lib/app/service.ts'
import { notes, request } from '../../app.ts'

// RFC 9111, section 7.3: Set-Cookie does not keep a shared cache from storing a response.

const policies = { notes: undefined, news: 'public, max-age=60', mail: 'private, max-age=60' }

async function serve (t: { after (close: () => Promise<unknown>): void }, addCookies: (app: FastifyInstance) => void) {
  const app: FastifyInstance = Fastify()
  t.after(() => app.close())
  await app.register(cookie)
  addCookies(app)
  await app.register(service, { audit: false })
  for (const [name, cache] of Object.entries(policies)) {
    await app.register(collection, notes({ name, ...cache !== undefined && { cache } }))
  }
  return app
}

test('a response that sets a cookie is not stored by shared caches, whoever sets it', async (t) => {
  const ways: Readonly<Record<string, (app: FastifyInstance) => void>> = {
    'setCookie of @fastify/cookie': (app) => {
      app.addHook('preHandler', async (_request, reply) => { reply.setCookie('session', '1') })
    },
    'an onRequest hook': (app) => {
      app.addHook('onRequest', async (_request, reply) => { reply.header('set-cookie', 'session=1') })
    },
    // As @fastify/session does.
    'an onSend hook': (app) => {
      app.addHook('onSend', async (_request, reply) => { reply.setCookie('session', '1') })
    }
  }
  for (const [way, addCookies] of Object.entries(ways)) {
    const app = await serve(t, addCookies)
    for (const [name, expected] of [['notes', 'no-store'], ['news', 'no-store'], ['mail', policies.mail]] as const) {
      for (const method of ['GET', 'HEAD'] as const) {
        const { headers } = await request(app, `${method} /${name}`)
        t.match(headers['set-cookie'], /^session=1/, way)
        t.equal(headers['cache-control'], expected, `${method} /${name}: ${way}`)
        const known = await request(app, `${method} /${name}`, { fields: { 'if-none-match': String(headers.etag) } })
        t.strictSame([known.statusCode, known.headers['cache-control']], [304, expected], way)
      }
    }
    const missing = await request(app, 'GET /news/01900000-0000-7000-8000-000000000001')
    t.strictSame([missing.statusCode, missing.headers['cache-control']], [404, 'no-store'], way)
    t.equal((await request(app, 'GET /')).headers['cache-control'], 'no-store', `the home document: ${way}`)
  }
})

test('a response without a cookie keeps its policy beside a plugin for sessions', async (t) => {
  const app = await serve(t, (app) => {
    app.addHook('onSend', async ({ url }, reply) => { if (url === '/login') reply.setCookie('session', '1') })
  })
  for (const [name, cache = 'no-cache'] of Object.entries(policies)) {
    t.equal((await request(app, `GET /${name}`)).headers['cache-control'], cache)
  }
})

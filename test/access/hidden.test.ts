import { test } from 'tap'
import { build, notes, request } from '../app.ts'

test('OPTIONS and 405 do not reveal a resource that is hidden from the caller', async (t) => {
  const app = await build(t, notes({
    access: {
      authenticate: ({ request }) => request.headers.authorization,
      allow: ({ caller }) => caller === 'ada' || 'hidden'
    }
  }))
  const id = '01900000-0000-7000-8000-000000000001'
  for (const target of ['OPTIONS /notes', 'PUT /notes', 'TRACE /notes', `OPTIONS /notes/${id}`, `POST /notes/${id}`]) {
    const { statusCode, headers, payload } = await request(app, target)
    t.equal(statusCode, 404, target)
    t.equal(headers.allow, undefined)
    t.match(JSON.parse(payload), { code: 'not-found' })
    const seen = await request(app, target, { fields: { authorization: 'ada' } })
    t.equal(seen.statusCode, target.startsWith('OPTIONS') ? 204 : 405, target)
    t.ok(seen.headers.allow)
  }
})

test('a rule that fails without the hooks in routes hides nothing', async (t) => {
  const app = await build(t, notes({
    routes: { all: { onRequest: async (request) => { Object.assign(request, { user: { role: 'admin' } }) } } },
    access: {
      authenticate: () => 'ada',
      allow: ({ request }) => (request as unknown as { user: { role: string } }).user.role === 'admin'
    }
  }))
  t.equal((await request(app, 'GET /notes')).statusCode, 200)
  t.equal((await request(app, 'DELETE /notes')).statusCode, 405)
})

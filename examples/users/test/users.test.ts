import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { build } from '../src/app.ts'
import { createTestDatabase } from './database.ts'

const admin = { email: 'root@example.com', password: 'correct horse' }
const ada = { email: 'Ada@example.com', name: 'Ada', password: 'analytical' }
const grace = { email: 'grace@example.com', name: 'Grace', password: 'nanoseconds' }

async function service (t: TestContext) {
  const { settings, remove } = await createTestDatabase()
  const app = await build({
    HOST: '',
    PORT: 0,
    ...settings,
    JWT_SECRET: 'a secret of at least thirty-two characters',
    ADMIN_EMAIL: admin.email,
    ADMIN_PASSWORD: admin.password
  })
  t.after(async () => {
    await app.close()
    await remove()
  })
  const login = async ({ email, password }: { email: string; password: string }) => {
    const { token } = (await app.inject({ method: 'POST', url: '/login', payload: { email, password } })).json<{
      token: string
    }>()
    return { authorization: `Bearer ${token}` }
  }
  const signUp = async (payload: object) => app.inject({ method: 'POST', url: '/users', payload })
  return { app, login, signUp }
}

test('POST /users signs up, and the login ignores the case of the email address', async (t) => {
  const { app, login, signUp } = await service(t)
  const created = await signUp(ada)
  assert.equal(created.statusCode, 201)
  assert.equal(created.payload, '', 'an anonymous caller may not read accounts, not even the new one')
  const headers = await login({ ...ada, email: 'ADA@example.com' })
  const { email, password } = (await app.inject({ url: String(created.headers.location), headers })).json()
  assert.deepEqual({ email, password }, { email: 'ada@example.com', password: undefined })
})

test('POST with an email address that already exists returns 409', async (t) => {
  const { signUp } = await service(t)
  await signUp(ada)
  assert.equal((await signUp({ ...ada, email: 'ada@example.com' })).statusCode, 409)
})

test('passwords are stored as hashes, and a wrong password is refused', async (t) => {
  const { app, login, signUp } = await service(t)
  await signUp(ada)
  assert.notEqual((await app.findAccount(ada.email))?.password, ada.password)
  assert.equal((await login({ ...ada, password: 'guessed it' })).authorization, 'Bearer undefined')
  assert.equal((await app.inject('/users')).statusCode, 401)
})

test('members see and change only their own account', async (t) => {
  const { app, login, signUp } = await service(t)
  const [mine, theirs] = [await signUp(ada), await signUp(grace)].map(({ headers }) => String(headers.location))
  const headers = await login(ada)
  assert.deepEqual(
    (await app.inject({ url: '/users', headers })).json().map(({ name }: { name: string }) => name),
    ['Ada']
  )
  assert.equal(
    (await app.inject({ method: 'PATCH', url: mine!, headers, payload: { name: 'Ada Lovelace' } })).statusCode,
    200
  )
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    assert.equal(
      (await app.inject({ method, url: theirs!, headers, ...(method === 'PATCH' && { payload: { name: 'Eve' } }) }))
        .statusCode,
      404
    )
  }
})

test('after a change of the password, only the new one works', async (t) => {
  const { app, login, signUp } = await service(t)
  const created = await signUp(ada)
  await app.inject({
    method: 'PATCH',
    url: String(created.headers.location),
    headers: await login(ada),
    payload: { password: 'difference' }
  })
  assert.equal((await login(ada)).authorization, 'Bearer undefined')
  assert.notEqual((await login({ ...ada, password: 'difference' })).authorization, 'Bearer undefined')
})

test('only an admin sees all accounts and grants roles', async (t) => {
  const { app, login, signUp } = await service(t)
  const location = String((await signUp(ada)).headers.location)
  const member = await login(ada)
  const grant = { method: 'POST', url: `${location}/grant`, payload: { role: 'admin' } } as const
  assert.equal((await app.inject(grant)).statusCode, 401)
  assert.equal((await app.inject({ ...grant, headers: member })).statusCode, 403)
  const headers = await login(admin)
  assert.equal((await app.inject({ url: '/users', headers })).json().length, 2)
  assert.equal((await app.inject({ ...grant, headers })).json().role, 'admin')
})

test('a caller gets no role by writing it, over HTTP or through a route that acts for the caller', async (t) => {
  const { app, login, signUp } = await service(t)
  const location = String((await signUp({ ...ada, role: 'admin' })).headers.location)
  const headers = await login(ada)
  const patch = await app.inject({ method: 'PATCH', url: location, headers, payload: { role: 'admin' } })
  assert.equal(patch.statusCode, 422)
  const account = { email: ada.email, name: ada.name, role: 'admin' }
  await app.inject({ method: 'PUT', url: location, headers, payload: account })

  const calls = app.collection(app.definitions.users)
  const id = location.replace('/users/', '')
  const asMember = { caller: { id, role: 'member' } } as const
  await assert.rejects(calls.update(id, { role: 'admin' }, asMember), { statusCode: 422 })
  await assert.rejects(calls.grant(id, { role: 'admin' }, asMember), { statusCode: 403 })
  await calls.create({ ...grace, role: 'admin' }, { caller: undefined })

  assert.equal((await app.findAccount(ada.email))?.role, 'member')
  assert.equal((await app.findAccount(grace.email))?.role, 'member')
})

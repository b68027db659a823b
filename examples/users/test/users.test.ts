import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { build } from '../src/app.ts'

const admin = { email: 'root@example.com', password: 'correct horse' }
const ada = { email: 'Ada@example.com', name: 'Ada', password: 'analytical' }
const grace = { email: 'grace@example.com', name: 'Grace', password: 'nanoseconds' }

async function service (t: TestContext) {
  const app = await build({
    HOST: '',
    PORT: 0,
    DATABASE_FILE: ':memory:',
    JWT_SECRET: 'a secret of at least thirty-two characters',
    ADMIN_EMAIL: admin.email,
    ADMIN_PASSWORD: admin.password
  })
  t.after(() => app.close())
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

test('only an admin sees all accounts and changes roles', async (t) => {
  const { app, login, signUp } = await service(t)
  const location = String((await signUp(ada)).headers.location)
  const promotion = { method: 'PATCH', url: location, payload: { role: 'admin' } } as const
  assert.equal((await signUp({ ...grace, role: 'admin' })).statusCode, 403)
  assert.equal((await app.inject({ ...promotion, headers: await login(ada) })).statusCode, 403)
  const headers = await login(admin)
  assert.equal((await app.inject({ url: '/users', headers })).json().length, 2)
  assert.equal((await app.inject({ ...promotion, headers })).json().role, 'admin')
})

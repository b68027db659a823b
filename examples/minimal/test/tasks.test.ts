import assert from 'node:assert/strict'
import { test } from 'node:test'
import { build } from '../src/app.ts'
import { config } from '../src/config.ts'
import { createTestDatabase } from './database.ts'

test('a task is created, changed with If-Match, and removed', async (t) => {
  const { settings, remove } = await createTestDatabase()
  const app = await build({ ...config(), ...settings })
  t.after(async () => {
    await app.close()
    await remove()
  })
  const created = await app.inject({ method: 'POST', url: '/tasks', payload: { title: 'Read the docs' } })
  assert.equal(created.statusCode, 201)
  const url = String(created.headers.location)
  const patch = { method: 'PATCH', url, headers: { 'if-match': String(created.headers.etag) } } as const
  assert.equal((await app.inject({ ...patch, payload: { done: true } })).statusCode, 200)
  assert.equal((await app.inject({ ...patch, payload: { done: false } })).statusCode, 412)
  assert.equal((await app.inject(url)).json().done, true)
  assert.equal((await app.inject({ method: 'POST', url: '/tasks', payload: { titel: 'No' } })).statusCode, 422)
})

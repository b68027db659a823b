import { test } from 'tap'
import { Type } from '@sinclair/typebox'
import { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'
import { isProportional } from '../growth.ts'

test('the time of a JSON Patch is proportional to its operations, also in an object of many members', async (t) => {
  const definition = define({
    name: 'maps',
    schema: Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      map: Type.Unknown()
    }),
    storage: memory()
  })
  const app = await build(t, definition, { bodyLimit: 10_000_000 })
  const map = Object.fromEntries(Array.from({ length: 70_000 }, (_, index) => [`k${index}`, index]))
  const { location } = (await request(app, 'POST /maps', { content: { map } })).headers
  const steps = [
    { op: 'remove', path: '/map/k5' },
    { op: 'add', path: '/map/k5', value: 5 },
    { op: 'move', from: '/map/k5', path: '/map/x' },
    { op: 'move', from: '/map/x', path: '/map/k5' },
    { op: 'copy', from: '/map/k5', path: '/map/x' },
    { op: 'remove', path: '/map/x' },
    { op: 'replace', path: '/map/k5', value: 5 },
    { op: 'test', path: '/map/k5', value: 5 }
  ]
  const patch = async (count: number) => {
    const content = JSON.stringify(Array.from({ length: count }, () => steps).flat())
    const answer = await request(app, `PATCH ${location}`, {
      content,
      type: 'application/json-patch+json',
      fields: { prefer: 'return=minimal' }
    })
    if (answer.statusCode !== 204) throw new Error(answer.body)
  }
  t.ok(await isProportional(patch, 2_000))
  const { map: after } = (await request(app, `GET ${location}`)).json()
  t.strictSame(after, map)
})

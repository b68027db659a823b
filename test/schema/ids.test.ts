import { Type } from '@sinclair/typebox'
import type { TSchema } from '@sinclair/typebox'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { build, modified } from '../app.ts'
import { listen, Wire } from '../wire.ts'

test('ids are parsed from path segments, and ids that cannot exist return 404', async (t) => {
  const cases: Array<[string, TSchema, 'uuid' | 'client' | 'storage', Record<string, unknown>]> = [
    [
      'integers',
      Type.Integer({ minimum: 1 }),
      'storage',
      {
        1: 1,
        42: 42,
        0: undefined,
        '01': undefined,
        '1.0': undefined,
        '1e3': undefined,
        '-1': undefined,
        ' 1': undefined,
        '': undefined,
        '9007199254740993': undefined,
        abc: undefined,
        Infinity: undefined
      }
    ],
    ['numbers', Type.Number(), 'client', { 7: 7, 1.5: undefined }],
    [
      'text',
      Type.String(),
      'client',
      {
        a: 'a',
        'a/b': 'a/b',
        'ü ': 'ü ',
        '': undefined,
        '.': undefined,
        '..': undefined,
        '...': '...',
        'a\0': undefined
      }
    ],
    ['patterns', Type.String({ pattern: '^[a-z]+$' }), 'client', { abc: 'abc', ABC: undefined, 1: undefined }],
    ['constants', Type.Union([Type.Literal('a'), Type.Literal('b')]), 'client', { a: 'a', c: undefined }],
    [
      'uuids of the client, as they are',
      Type.String({ format: 'uuid' }),
      'client',
      { '0190A000-0000-7000-8000-00000000ABCD': '0190A000-0000-7000-8000-00000000ABCD', x: undefined }
    ],
    [
      'uuids of the library, in any letter case (RFC 9562 section 4)',
      Type.String({ format: 'uuid' }),
      'uuid',
      { '0190A000-0000-7000-8000-00000000ABCD': '0190a000-0000-7000-8000-00000000abcd', x: undefined }
    ]
  ]
  for (const [what, id, generate, segments] of cases) {
    const found: unknown[] = []
    const storage = modified(() => ({
      async find (id) {
        found.push(id)
        return undefined
      }
    }))
    const schema = Type.Object({ id })
    const things = define({ name: 'things', schema, id: { generate }, storage } as never)
    const app = await build(t, [])
    await app.register(registry)
    await app.register(collection, things)
    const wire = new Wire(await listen(app))
    for (const [segment, expected] of Object.entries(segments)) {
      const message = `${what}: ${JSON.stringify(segment)}`
      const ids = expected === undefined ? [] : [expected]
      found.length = 0
      const { status } = await wire.ask([`GET /things/${encodeURIComponent(segment)}`])
      t.equal(status, 404)
      t.strictSame(found, ids, message)
      found.length = 0
      await t.rejects(app.collection(things).read(segment as never), { code: 'not-found' })
      t.strictSame(found, ids, `${message}, from code`)
    }
    wire.socket.destroy()
  }
})

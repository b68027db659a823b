import { deserialize, serialize } from 'node:v8'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { define, json } from '../../lib/index.ts'
import { Malformed } from '../../lib/formats/index.ts'
import type { Format } from '../../lib/formats/index.ts'
import { build } from '../app.ts'
import { storages } from '../storages.ts'

// A format whose content is bytes. The structured clones of Node.js are not valid UTF-8.

const mediaType = 'application/vnd.structured-clone'

const clone: Format = {
  name: 'clone',
  mediaType,
  item: (item) => serialize(item),
  list: (items) => serialize(items),
  parse (content) {
    try {
      return deserialize(content)
    } catch {
      throw new Malformed('The content is not a structured clone.')
    }
  },
  describe: () => ({ type: 'string', format: 'binary' })
}

const Note = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  text: Type.String(),
  size: Type.Optional(Type.Integer())
})

for (const { name, skip, open } of storages) {
  test(`${name}: a format can produce bytes`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const notes = define({ name: 'notes', schema: Note, storage, formats: [json, clone] }).with(
      bulk(),
      idempotency()
    )
    await prepare(notes)
    const app = await build(t, notes)
    const accept = { accept: mediaType }
    const send = (method: 'POST' | 'PUT' | 'PATCH', url: string, content: unknown, headers = {}) => {
      return app.inject({
        method,
        url,
        payload: serialize(content),
        headers: { ...accept, 'content-type': mediaType, ...headers }
      })
    }

    const created = await send('POST', '/notes', { text: 'é\u{1F600}', size: 1 }, { 'idempotency-key': '"one"' })
    t.equal(created.statusCode, 201)
    t.equal(created.headers['content-type'], mediaType)
    const item = deserialize(created.rawPayload) as { id: string }
    t.match(item, { text: 'é\u{1F600}', size: 1 })
    t.equal(Number(created.headers['content-length']), created.rawPayload.length)

    const replayed = await send('POST', '/notes', { text: 'é\u{1F600}', size: 1 }, { 'idempotency-key': '"one"' })
    t.equal(replayed.headers['idempotent-replayed'], 'true')
    t.strictSame(replayed.rawPayload, created.rawPayload, 'a replay has the same bytes')
    t.equal(replayed.headers['content-type'], mediaType)

    const url = String(created.headers.location)
    for (const source of ['rendered', 'cached']) {
      const read = await app.inject({ url, headers: accept })
      t.strictSame(deserialize(read.rawPayload), item, source)
      t.strictSame(
        await app
          .inject({ url, headers: { ...accept, 'if-none-match': String(read.headers.etag) } })
          .then(({ statusCode }) => statusCode),
        304
      )
      const head = await app.inject({ method: 'HEAD', url, headers: accept })
      t.equal(Number(head.headers['content-length']), read.rawPayload.length)
      t.equal(head.rawPayload.length, 0)
      const list = await app.inject({ url: '/notes', headers: accept })
      t.strictSame(deserialize(list.rawPayload), [item])
      t.strictSame(deserialize((await app.inject({ url: '/notes?fields=text', headers: accept })).rawPayload), [
        { text: 'é\u{1F600}' }
      ])
    }
    const asJson = await app.inject({ url })
    t.strictSame(asJson.json(), item)

    const replaced = await send('PUT', url, { id: item.id, text: 'two' })
    t.ok(replaced.headers.etag, 'the stored representation has the bytes of the request')
    t.notOk((await send('PUT', url, { text: 'three' })).headers.etag)
    const patched = await app.inject({
      method: 'PATCH',
      url,
      payload: '{"size":2}',
      headers: { ...accept, 'content-type': 'application/merge-patch+json' }
    })
    t.strictSame(deserialize(patched.rawPayload), { id: item.id, text: 'three', size: 2 })

    const several = await send('POST', '/notes', [{ text: 'a' }, { text: 'b' }])
    t.match(deserialize(several.rawPayload), [{ text: 'a' }, { text: 'b' }])
    const malformed = await app.inject({
      method: 'POST',
      url: '/notes',
      payload: Buffer.from([0xff, 0xff]),
      headers: { ...accept, 'content-type': mediaType }
    })
    t.match(malformed.json(), { status: 400, detail: 'The content is not a structured clone.' })

    const removed = await app.inject({ method: 'DELETE', url, headers: { ...accept, prefer: 'return=representation' } })
    t.strictSame(deserialize(removed.rawPayload), { id: item.id, text: 'three', size: 2 })
  })
}

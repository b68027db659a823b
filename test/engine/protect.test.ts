import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import type { Feature } from '../../lib/features/index.ts'
import type { Format } from '../../lib/formats/index.ts'
import { build } from '../app.ts'
import { allStorages } from '../storages.ts'

// Features and formats of an app get items that they cannot change, on every storage.

const Note = Type.Object({
  id: Type.String({ readOnly: true }),
  text: Type.String(),
  tags: Type.Optional(Type.Array(Type.String()))
})

/** Tries to change an item, and says whether it could. */
function spoil (item: object | undefined): boolean {
  if (item === undefined) return false
  return Reflect.set(item, 'text', 'spoiled') || Reflect.set((item as { tags: string[] }).tags, 0, 'spoiled')
}

for (const { name, skip, open } of allStorages) {
  test(`${name}: layers of features and formats cannot change items`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const seen = new Set<string>()
    const spoiled: string[] = []
    const note = (position: string, item: object | undefined) => {
      if (item !== undefined) seen.add(position)
      if (spoil(item)) spoiled.push(position)
    }
    const spoiler: Feature<object> = {
      name: 'spoiler',
      setup (host) {
        for (const position of ['operation', 'authorized'] as const) {
          host.wrap(position, (next) => async (operation) => {
            const outcome = await next(operation)
            if (!('kind' in outcome)) return outcome
            if ('entry' in outcome) note(`${position} ${outcome.kind}`, outcome.entry?.item)
            if (outcome.kind === 'page') for (const { item } of outcome.page.entries) note(`${position} page`, item)
            return outcome
          })
        }
        host.wrap('find', (next) => async (...parameters) => {
          const found = await next(...parameters)
          if (found !== undefined && 'item' in found) note('find', found.item)
          return found
        })
        host.wrap('content', (next) => (operation, before) => {
          note('content', before?.item)
          return next(operation, before)
        })
        host.wrap('write', (next) => async (operation, changes, options) => {
          for (const { before } of changes) note('write before', before?.item)
          const written = await next(operation, changes, options)
          if (Array.isArray(written)) for (const entry of written) note('write', entry?.item)
          return written
        })
      }
    }
    const format: Format = {
      name: 'spoiling',
      mediaType: 'application/json',
      parse: (content) => JSON.parse(content.toString()),
      item (item) {
        note('format item', item)
        return JSON.stringify(item)
      },
      list (items) {
        for (const item of items) note('format list', item)
        return JSON.stringify(items)
      },
      describe: (schema) => schema
    }
    const notes = define({ name: 'notes', schema: Note, storage, id: { generate: 'uuid' }, formats: [format] })
      .with(spoiler)
    await prepare(notes)
    const app = await build(t, notes)
    const headers = { 'content-type': 'application/json', prefer: 'return=representation' }
    const send = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET', url: string, payload?: object) => {
      return app.inject({ method, url, headers: { ...headers, ...method === 'PATCH' && { 'content-type': 'application/merge-patch+json' } }, ...payload && { payload } })
    }
    const created = await send('POST', '/notes', { text: 'a', tags: ['b'] })
    t.equal(created.statusCode, 201)
    const url = String(created.headers.location)
    const { id } = created.json()
    const expected = { id, text: 'a', tags: ['b'] }
    t.strictSame(created.json(), expected)
    t.strictSame((await send('GET', url)).json(), expected)
    t.strictSame((await send('GET', `${url}?fields=tags,text`)).json(), { text: 'a', tags: ['b'] })
    t.strictSame((await send('GET', '/notes')).json(), [expected])
    t.strictSame((await send('PATCH', url, { text: 'c' })).json(), { ...expected, text: 'c' })
    t.strictSame((await send('PUT', url, { text: 'd', tags: ['e'] })).json(), { id, text: 'd', tags: ['e'] })
    t.strictSame((await send('DELETE', url)).json(), { id, text: 'd', tags: ['e'] })
    t.strictSame(spoiled, [])
    t.strictSame([...seen].sort(), [
      'authorized entry',
      'authorized page',
      'authorized removed',
      'content',
      'find',
      'format item',
      'format list',
      'operation entry',
      'operation page',
      'operation removed',
      'write',
      'write before'
    ])
  })
}

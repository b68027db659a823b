import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define, json } from '../../lib/index.ts'
import { RepresentationCache } from '../../lib/formats/representation-cache.ts'
import { memory } from '../../lib/storage/memory.ts'

const entry = (id: string, version = '1') => Object.freeze({ id, item: {}, version })
const representation = (content = '{}', path = '/notes') => ({ path, content, headers: {} })

test('a representation is cached by path after its second use, until the entry changes', async (t) => {
  const cache = new RepresentationCache()
  const [one, other] = [entry('a'), entry('a', '2')]
  const written = representation()
  cache.add(one, written)
  t.equal(cache.get(one, '/notes'), undefined, 'not cached on the first use')
  cache.add(one, written)
  t.equal(cache.get(one, '/notes'), written)
  t.equal(cache.get(one, '/v1/notes'), undefined)
  t.equal(cache.get(other, '/notes'), undefined)
  cache.add(other, written)
  t.equal(cache.get(one, '/notes'), undefined, 'another entry replaced it')
  t.equal(cache.get(other, '/notes'), undefined)
  t.equal(cache.get(entry('b'), '/notes'), undefined)
})

test('the cache evicts entries if there are too many or if they are too long', async (t) => {
  const fill = (content: string): [RepresentationCache, ReturnType<typeof entry>] => {
    const cache = new RepresentationCache()
    const first = entry('first')
    for (let turn = 0; turn < 2; turn++) cache.add(first, representation(content))
    t.not(cache.get(first, '/notes'), undefined)
    return [cache, first]
  }
  const [many, first] = fill('{}')
  for (let count = 0; count < 10_000; count++) many.add(entry(`entry ${count}`), representation())
  t.equal(many.get(first, '/notes'), undefined)
  const [long, one] = fill('x'.repeat(10_000_000))
  const next = entry('next')
  for (let turn = 0; turn < 2; turn++) long.add(next, representation('x'.repeat(10_000_000)))
  t.equal(long.get(one, '/notes'), undefined)
})

/** JSON that counts the items that it serializes. */
function countWrites () {
  const counter = {
    count: 0,
    format: {
      ...json,
      item: (...given: Parameters<typeof json.item>) => {
        counter.count++
        return json.item(...given)
      }
    }
  }
  return counter
}

test('an item that is read repeatedly is rendered twice, and again after a change', async (t) => {
  const counter = countWrites()
  const app = Fastify()
  const Note = Type.Object({ id: Type.String(), text: Type.String() })
  app.register(
    collection,
    define({
      name: 'notes',
      schema: Note,
      id: { generate: 'client' },
      formats: [counter.format],
      storage: memory({ items: [{ id: 'a', text: 'one' }] })
    })
  )
  const read = async (headers = {}) => app.inject({ url: '/notes/a', headers })
  for (let turn = 0; turn < 5; turn++) t.same((await read()).json(), { id: 'a', text: 'one' })
  t.equal(counter.count, 2)
  const { etag } = (await read()).headers
  const unmodified = await read({ 'if-none-match': etag })
  t.equal(unmodified.statusCode, 304)
  t.equal(unmodified.headers['content-type'], undefined)
  t.equal(unmodified.headers.etag, etag)
  await app.inject({ method: 'PUT', url: '/notes/a', payload: { id: 'a', text: 'two' } })
  t.same((await read()).json(), { id: 'a', text: 'two' })
  t.not((await read()).headers.etag, etag)
})

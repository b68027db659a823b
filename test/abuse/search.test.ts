import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { memory } from '../../lib/storage/memory.ts'
import { build, modified, notes, request } from '../app.ts'
import { databases } from '../storage/databases.ts'

test('a search in 40 MB of text keeps none of it in memory', async (t) => {
  const child = fork(fileURLToPath(new URL('large-search.ts', import.meta.url)), {
    execArgv: ['--max-old-space-size=64'],
    // Without the options of the test runner for coverage, which needs memory too.
    env: {},
    stdio: ['ignore', 'inherit', 'pipe', 'ipc']
  })
  let failure = ''
  child.stderr!.on('data', (chunk: Buffer) => {
    failure += chunk.toString()
  })
  let found: unknown
  child.on('message', (message) => {
    found = message
  })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  t.strictSame([code, signal], [0, null], failure.slice(0, 500))
  t.strictSame(found, {
    'the quick fox jumps over lazy dog missing': '200 0',
    'ЕЩЁ Булок x missing': '200 0',
    Ещё: '200 40',
    zebra: '200 0'
  })
})

test('search words that are repeated or part of another word are dropped', async (t) => {
  const searches: unknown[] = []
  const storage = modified(({ list }) => ({
    list (query, context) {
      searches.push(query.search?.words)
      return list(query, context)
    }
  }))
  const app = await build(t, notes({ list: { search: ['text'] }, storage }))
  const search = async (q: string) => [
    (await request(app, 'QUERY /notes', { content: { q } })).statusCode,
    (await request(app, `GET /notes?q=${encodeURIComponent(q)}`)).statusCode
  ]
  t.strictSame(await search('  a A foo\tFOOD b foo\u00a0É  '), [200, 200])
  t.strictSame(await search('ΟΔΟΣ'), [200, 200])
  t.strictSame(await search(' \n '), [422, 400], 'no word')
  t.strictSame(searches, [['food', 'a', 'b', 'é'], ['οδοσ']].flatMap((words) => [words, words]))
})

test('GET and QUERY reject more than 10 different search words', async (t) => {
  const app = await build(t, notes({ list: { search: ['text'] }, storage: memory() }))
  const words = (count: number) =>
    Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index)).join(' ')
  t.equal((await request(app, `GET /notes?q=${encodeURIComponent(`${words(10)} ${words(10)}`)}`)).statusCode, 200)
  t.equal((await request(app, 'QUERY /notes', { content: { q: words(10) } })).statusCode, 200)
  t.match((await request(app, `GET /notes?q=${encodeURIComponent(words(11))}`)).json(), {
    status: 400,
    code: 'invalid-query',
    parameter: 'q',
    detail: 'q must be text of up to 200 characters and 10 different words.'
  })
  t.match((await request(app, 'QUERY /notes', { content: { q: words(11) } })).json(), {
    status: 422,
    errors: [{ pointer: '/q' }]
  })
})

for (const { name, skip, open } of databases) {
  test(`${name}: search finds a word at the end of a long text`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    const adapter = database.adapter()
    const definition = notes({ storage: adapter, list: { search: ['text'] } })
    await adapter.createTable(definition)
    const app = await build(t, definition)
    const text = `${'ab '.repeat(300_000)}End École`
    t.equal((await request(app, 'POST /notes', { content: { text } })).statusCode, 201)
    for (const [q, count] of [
      ['end', 1],
      ['ÉCOLE', 1],
      ['b end école', 1],
      ['endx', 0],
      ['xÉcole', 0]
    ] as const) {
      t.equal((await request(app, `GET /notes?q=${encodeURIComponent(q)}&fields=id`)).json().length, count, q)
    }
  })
}

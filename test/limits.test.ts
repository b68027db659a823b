import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import type { Definition } from '../lib/index.ts'
import { memory } from '../lib/storage/memory.ts'
import { idempotency } from '../lib/features/idempotency.ts'
import { bulk } from '../lib/features/bulk.ts'
import { timeout } from '../lib/features/timeout.ts'
import { build, created, modified, notes, request, users } from './app.ts'
import { listen, Wire } from './wire.ts'
import { define } from './define.ts'

// docs/limits.md, line by line: requests at the limit succeed, requests beyond it are refused as documented.

const open = (): Definition =>
  define({
    name: 'open',
    schema: Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      any: Type.Optional(Type.Unknown()),
      list: Type.Optional(Type.Array(Type.Integer(), { maxItems: 3 }))
    }),
    storage: memory()
  })

const wide = (count: number): Definition =>
  define({
    name: `wide-${count}`,
    schema: Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      ...Object.fromEntries(names(count).map((name) => [name, Type.Optional(Type.Integer())]))
    }),
    storage: memory()
  })

interface Outcome {
  readonly statusCode: number
  readonly headers: Record<string, unknown>
  json(): Record<string, unknown>
}

/** Sends a request of this size to the app, which is created again for each line. */
interface Line {
  readonly app: (t: Test) => Promise<FastifyInstance>
  readonly request: (app: FastifyInstance, amount: number) => Promise<Outcome>
  /** The status within the limit. */
  readonly within: number
  /** The limit, if the table has no number. */
  readonly limit?: number
  /** If requests beyond the limit are not refused: what their response has. */
  readonly past?: (answer: Outcome, limit: number) => boolean
}

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`)
const patch = (app: FastifyInstance, at: string, steps: unknown): Promise<Outcome> =>
  request(app, `PATCH ${at}`, { content: steps, type: 'application/json-patch+json' })
const query = (app: FastifyInstance, filter: unknown): Promise<Outcome> =>
  request(app, 'QUERY /users', { content: { filter } })
/** Repeats a request whose first response has this many bytes. */
const replay = async (app: FastifyInstance, method: 'POST' | 'PATCH', bytes: number): Promise<Outcome> => {
  const empty = await request(app, 'POST /notes', { content: { text: '' } })
  const text = 'x'.repeat(bytes - empty.payload.length)
  const options = { content: { text }, fields: { 'idempotency-key': String(bytes) } }
  const target = method === 'POST' ? 'POST /notes' : `PATCH ${empty.headers.location}`
  const first = await request(app, target, options)
  if (Buffer.byteLength(first.payload) !== bytes) throw new Error(`${first.payload.length} bytes`)
  const { statusCode, headers, payload } = await request(app, target, options)
  return { statusCode, headers, json: () => ({ length: payload.length }) }
}
const repeatable = (t: Test): Promise<FastifyInstance> =>
  build(
    t,
    notes({
      schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() }) as never
    }).with(idempotency()),
    { bodyLimit: 2_000_000 }
  )
const large = (t: Test): Promise<FastifyInstance> =>
  build(
    t,
    notes({
      schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() }) as never
    }),
    { bodyLimit: 5_000_000 }
  )
/** Two items with this many characters, after others. */
const longPage = async (app: FastifyInstance, target: string, length: number, others = 0): Promise<Outcome> => {
  for (const { id } of (await request(app, 'GET /notes?fields=id')).json()) await request(app, `DELETE /notes/${id}`)
  for (let index = 0; index < others; index++) await created(app, '/notes', { text: '' })
  for (const text of ['', 'x'.repeat(length - 112)]) await created(app, '/notes', { text })
  return request(app, target)
}
const isEmpty = (answer: Outcome): boolean =>
  answer.json().length === 0 && answer.headers['idempotent-replayed'] === 'true'
const unstable = { ...notes({ storage: modified(() => ({ replace: async () => ({ refused: 'stale' }) })) }) }

const lines: Readonly<Record<string, Line>> = {
  'bytes of content, after decoding': {
    app: (t) =>
      build(
        t,
        notes({
          schema: Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() }) as never
        })
      ),
    request: (app, bytes) => request(app, 'POST /notes', { content: JSON.stringify({ text: 'x'.repeat(bytes - 11) }) }),
    within: 201
  },
  'levels of JSON': {
    app: (t) => build(t, open()),
    request: (app, levels) => request(app, 'POST /open', { content: `{"any":${nested(levels - 1)}}` }),
    within: 201
  },
  'levels of XML': {
    app: (t) => build(t, open()),
    request: (app, levels) =>
      request(app, 'POST /open', {
        content: `<item><any type="array">${'<item type="array">'.repeat(levels - 2)}<item>1</item>${'</item>'.repeat(levels - 2)}</any></item>`,
        type: 'application/xml'
      }),
    within: 201
  },
  'levels that a JSON Patch creates': {
    app: (t) => build(t, open()),
    async request (app, levels) {
      const { at } = await created(app, '/open', { any: [] })
      // Copies an array of this depth into another one, below the object.
      const deep = JSON.parse(nested(32))
      return patch(app, at, [
        { op: 'replace', path: '/any', value: deep },
        { op: 'add', path: '/any' + '/0'.repeat(31) + '/-', value: JSON.parse(nested(levels - 33)) }
      ])
    },
    within: 200
  },
  'values and characters that a JSON Patch copies': {
    app: (t) => build(t, open()),
    async request (app, amount) {
      const { at } = await created(app, '/open', { any: { a: 'x'.repeat(1024) } })
      const copies = Array.from({ length: 1024 }, () => ({ op: 'copy', from: '/any/a', path: '/any/b' }))
      return patch(app, at, [
        ...copies,
        ...(amount > 1_048_576 ? [{ op: 'copy', from: '/any/b', path: '/any/c' }] : [])
      ])
    },
    within: 200
  },
  'array items that a JSON Patch moves by adding and removing others before them': {
    app: (t) => build(t, open(), { bodyLimit: 2_000_000 }),
    async request (app, amount) {
      const { at } = await created(app, '/open', { any: Array(524_288).fill(1) })
      const moves = Array.from({ length: 512 }, () => [
        { op: 'add', path: '/any/1', value: 1 },
        { op: 'remove', path: '/any/524288' }
      ])
      return patch(app, at, [
        ...moves.flat(),
        ...(amount > 268_435_456 ? [{ op: 'remove', path: '/any/524287' }] : [])
      ])
    },
    within: 200
  },
  'items of an array in content': {
    app: (t) => build(t, open()),
    request: (app, count) => request(app, 'POST /open', { content: { list: Array(count).fill(1) } }),
    within: 201,
    limit: 3
  },
  'characters of a string in content': {
    app: (t) => build(t, notes(), { bodyLimit: 2_000_000 }),
    request: (app, count) => request(app, 'POST /notes', { content: { text: 'x'.repeat(count) } }),
    within: 201,
    limit: 1_000_000
  },
  'greatest integer in content': {
    app: (t) => build(t, open()),
    request: (app, integer) => request(app, 'POST /open', { content: `{"list":[${BigInt(integer)}]}` }),
    within: 201
  },
  'year of a date or date-time': {
    app: (t) =>
      build(
        t,
        define({
          name: 'days',
          schema: Type.Object({
            id: Type.String({ format: 'uuid', readOnly: true }),
            at: Type.String({ format: 'date-time' })
          }),
          storage: memory()
        })
      ),
    // The offset moves it to the next year.
    request: (app, year) =>
      request(app, 'POST /days', {
        content: { at: year > 9999 ? '9999-12-31T23:00:00-01:00' : `${year}-12-31T23:00:00Z` }
      }),
    within: 201
  },
  'items in one POST': {
    app: (t) => build(t, notes().with(bulk())),
    request: (app, count) => request(app, 'POST /notes', { content: Array(count).fill({ text: 'a' }) }),
    within: 201
  },
  'items that one PATCH or DELETE of a collection writes': {
    app: (t) => build(t, notes().with(bulk({ update: true }))),
    request: async (app, count) => {
      for (let left = count; left > 0; left -= 100) {
        await request(app, 'POST /notes', { content: Array(Math.min(left, 100)).fill({ text: 'a' }) })
      }
      return request(app, 'PATCH /notes?text=a', { content: { text: 'b' } })
    },
    within: 200
  },
  'characters of all items that one PATCH of a collection changes': {
    app: (t) => build(t, notes().with(bulk({ update: true }))),
    request: async (app, length) => {
      await request(app, 'POST /notes', { content: Array(16).fill({ text: 'a' }) })
      // Beside the text, each has its id, and the names of both.
      const text = 'x'.repeat(Math.ceil(length / 16) - 56)
      return request(app, 'PATCH /notes?text=a', { content: { text } })
    },
    within: 200
  },
  'items of a page': {
    app: (t) => build(t, notes()),
    request: (app, count) => request(app, `GET /notes?limit=${count}`),
    within: 200
  },
  'characters of all items of a page': {
    app: large,
    request: (app, length) => longPage(app, 'GET /notes', length),
    within: 200,
    past: ({ headers }) => /rel="next"/.test(String(headers.link))
  },
  'characters of all items of a page with an offset': {
    app: large,
    request: (app, length) => longPage(app, 'GET /notes?offset=1', length, 1),
    within: 200
  },
  'items before a page by [offset](lists.md#pages-by-offset)': {
    app: (t) => build(t, notes()),
    request: (app, offset) => request(app, `GET /notes?offset=${offset}`),
    within: 200
  },
  'characters of a query string': {
    app: (t) => build(t, users()),
    request: (app, length) => request(app, `GET /users?name=${'x'.repeat(length - 5)}`),
    within: 200
  },
  'characters of q': {
    app: (t) => build(t, users({ list: { search: ['name'] } })),
    request: (app, length) => request(app, `GET /users?q=${'x'.repeat(length)}`),
    within: 200
  },
  'different words of q': {
    app: (t) => build(t, users({ list: { search: ['name'] } })),
    request: (app, count) =>
      request(
        app,
        `GET /users?q=${Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index)).join('+')}`
      ),
    within: 200
  },
  'conditions of a filter': {
    app: (t) => build(t, wide(200)),
    request: (app, count) =>
      request(
        app,
        `GET /wide-200?${names(count)
          .map((name) => `${name}=1`)
          .join('&')}`
      ),
    within: 200
  },
  'conditions of a filter in the content of QUERY': {
    app: (t) => build(t, users()),
    request: (app, count) => query(app, { any: Array.from({ length: count }, () => ({ name: 'x' })) }),
    within: 200
  },
  'like and ilike conditions of a filter: each counts as 20, and an ilike as 1 more for each letter other than a to z': {
    app: (t) => build(t, users()),
    request: (app, count) => query(app, { any: Array.from({ length: count }, () => ({ 'name.ilike': 'x*' })) }),
    within: 200
  },
  'values in all lists of a filter: in, nin and overlaps': {
    app: (t) => build(t, users()),
    request: (app, count) => request(app, `GET /users?name.nin=a,b&role.in=${names(count - 2).join()}`),
    within: 200
  },
  'values in all lists of a filter in the content of QUERY': {
    app: (t) => build(t, users()),
    request: (app, count) => query(app, { 'name.in': names(count - 10), not: { 'role.in': names(10) } }),
    within: 200
  },
  'characters of a like or ilike pattern': {
    app: (t) => build(t, users()),
    request: (app, count) => request(app, `GET /users?name.ilike=${'x'.repeat(count)}`),
    within: 200
  },
  'stars in a like or ilike pattern': {
    app: (t) => build(t, users()),
    request: (app, count) => request(app, `GET /users?name.like=${'*x'.repeat(count)}`),
    within: 200
  },
  'levels of a filter in the content of QUERY': {
    app: (t) => build(t, users()),
    request: (app, levels) =>
      query(app, JSON.parse('{"not":'.repeat(levels - 1) + '{"name":"x"}' + '}'.repeat(levels - 1))),
    within: 200
  },
  'errors that a problem lists': {
    past: ({ json }, limit) => (json().errors as unknown[]).length === limit,
    app: (t) => build(t, users()),
    request: (app, count) =>
      request(app, 'POST /users', {
        content: { email: 'a@example.com', name: 'a', ...Object.fromEntries(names(count).map((name) => [name, 1])) }
      }),
    within: 422
  },
  'names that a problem lists as accepted': {
    past: ({ json }, limit) => String(json().detail).includes(`, n${limit - 2} and 1 more; not "x"`),
    app: (t) => build(t, [wide(19), wide(20)]),
    request: (app, count) => request(app, `GET /wide-${count - 1}?sort=x`),
    within: 400
  },
  'errors that a problem lists for all items of one POST': {
    past: ({ json }, limit) => (json().errors as unknown[]).length === limit,
    app: (t) => build(t, users().with(bulk({ maximum: 1000 }))),
    request: (app, count) => request(app, 'POST /users', { content: Array(count).fill({ email: 'a@example.com' }) }),
    within: 422
  },
  'attempts of a write without a precondition that other writes precede': {
    app: (t) => build(t, unstable),
    async request (app, attempts) {
      const { at } = await created(app, '/notes', { text: 'a' })
      let left = attempts - 1
      unstable.storage.replace = async (id, item) => (left-- > 0 ? { refused: 'stale' } : { id, item, version: 'done' })
      return request(app, `PUT ${at}`, { content: { text: 'b' } })
    },
    within: 200
  },
  'bytes of content that is stored for the replay of a POST, or of a bulk write': {
    app: repeatable,
    request: (app, bytes) => replay(app, 'POST', bytes),
    within: 201,
    past: isEmpty
  },
  'bytes of content that is stored for the replay of a PATCH': {
    app: repeatable,
    request: (app, bytes) => replay(app, 'PATCH', bytes),
    within: 200,
    past: isEmpty
  },
  'milliseconds of an action': {
    app: (t) =>
      build(
        t,
        notes({
          storage: modified((storage) => ({
            list: async (...args) =>
              new Promise((resolve) => setTimeout(resolve, Number(args[0].limit), storage.list(...args)))
          })),
          list: { limit: { maximum: 1000 } }
        }).with(timeout(100))
      ),
    request: (app, milliseconds) => request(app, `GET /notes?limit=${milliseconds > 100 ? 400 : 1}`),
    within: 200,
    limit: 100
  },
  'bytes of the header section, with the URI': {
    app: (t) => build(t, notes()),
    async request (app, bytes) {
      const wire = new Wire(
        app.server.listening ? Number((app.server.address() as { port: number }).port) : await listen(app)
      )
      // Node.js counts the URI and the headers, without separators.
      const answer = await wire.ask(['GET /notes', `X: ${'x'.repeat(bytes > 16_384 ? bytes : bytes - 200)}`])
      wire.close()
      return { statusCode: answer.status, headers: answer.fields, json: () => JSON.parse(answer.content.toString()) }
    },
    within: 200
  }
}

const page = readFileSync(new URL('../docs/limits.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('## Collection limits'), page.indexOf('## Server limits'))
const table = section
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', ''))
  )

test('docs/limits.md has a line for each limit tested here, and no others', async (t) => {
  t.strictSame(
    table.map(([what]) => what),
    Object.keys(lines)
  )
})

for (const [what = '', most, past = ''] of table) {
  test(`${what}: at most ${most}, then ${past}`, async (t) => {
    const { app: createApp, request, within, limit = Number(most), past: isPast } = lines[what]!
    const app = await createApp(t)
    const done = await request(app, limit)
    t.equal(done.statusCode, within)
    const refused = await request(app, limit + 1)
    if (isPast !== undefined) return t.strictSame([isPast(done, limit - 1), isPast(refused, limit)], [false, true])
    const [status, code] = past.split(' ')
    t.equal(refused.statusCode, Number(status))
    if (code !== undefined) {
      t.equal(refused.json().code, code)
      t.equal(refused.headers['content-type'], 'application/problem+json')
    }
    if (Number(status) === 503) t.equal(refused.headers['retry-after'], '1')
  })
}

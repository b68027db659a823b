import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { InjectOptions } from 'fastify'
import t, { test } from 'tap'
import { problems } from '../lib/http/problems.ts'
import collection, { define } from '../lib/index.ts'
import { optionNames } from '../lib/define/option-table.ts'
import type { Adapter, Receipt, Storage, Supports } from '../lib/storage/index.ts'
import type { Feature } from '../lib/features/index.ts'
import { action } from '../lib/features/action.ts'
import { bulk } from '../lib/features/bulk.ts'
import { idempotency } from '../lib/features/idempotency.ts'
import { redirects } from '../lib/features/redirects.ts'
import { softDelete } from '../lib/features/soft-delete.ts'
import { memory } from '../lib/storage/memory.ts'
import { controlClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { parseCommands, toPattern } from './conversation.ts'
import { blocks, composePrograms, needsTestAll, pages, text } from './docs.ts'
import { alone, collectOutput, example, isInstalled, root } from './example.ts'
import { freePort, isListening } from './ports.ts'
import { noServers } from './storage/databases.ts'
import { things } from './storage/things.ts'

/** Returns the rows of the tables below a heading, as cells without backticks. */
function rows (page: string, heading?: string): string[][] {
  const from = heading === undefined ? 0 : text(page).search(new RegExp(`^#+ ${heading}$`, 'm'))
  const section =
    heading === undefined
      ? text(page)
      : text(page)
        .slice(from)
        .replace(/^(#+ .*\n[^]*?)^#+ [^]*$/m, '$1')
  return section
    .split('\n')
    .filter((line) => /^\| /.test(line))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', ''))
    )
}

// From there, programs also find the packages of `npm run test:all`.
const scratch = join(root, 'test/all/.tap', `docs-${process.pid}`)
const programs = composePrograms(scratch)

const server = /from '(pg|postgres|mysql2|mysql2\/promise|mariadb|better-sqlite3)'/

function unable ({ code }: { code: string }): string | false {
  if (noServers && needsTestAll({ code })) return noServers
  return server.test(code) && 'it needs a database server or a driver of its own'
}

/** One process runs all programs and reports what each printed, or why it failed. All that they start ends with it. */
const runner = `
let lines = []
console.log = (...values) => { lines.push(values.join(' ')) }
for (const file of process.argv.slice(2)) {
  lines = []
  const error = await import(file).then(() => undefined, thrown => String(thrown?.stack))
  await new Promise(resolve => setTimeout(resolve, 20))
  process.send({ file, lines, error })
}
process.exit()
`

t.before(() => {
  mkdirSync(scratch, { recursive: true })
  for (const { file, code } of programs) writeFileSync(file, code)
  writeFileSync(join(scratch, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(scratch, 'run.mjs'), runner)
})
t.teardown(() => rmSync(scratch, { recursive: true, force: true }))

test('every program in the documentation runs and prints the documented output', async (t) => {
  const alone = programs.filter(({ code }) => !code.includes("from 'node:test'") && unable({ code }) === false)
  const child = fork(
    join(scratch, 'run.mjs'),
    alone.map(({ file }) => file),
    { cwd: scratch }
  )
  const reports = new Map<string, { lines: string[]; error?: string }>()
  child.on(
    'message',
    (message: { file: string; lines: string[]; error?: string }) => reports.set(message.file, message)
  )
  await once(child, 'exit')
  for (const { page, line, file, code, printed } of programs.filter(
    ({ code }) => !code.includes("from 'node:test'")
  )) {
    await t.test(`${page}, line ${line}`, { skip: unable({ code }) }, async (t) => {
      t.equal(reports.get(file)?.error, undefined)
      if (printed.length > 0) t.same(reports.get(file)?.lines, printed)
    })
  }
})

test('every test suite in the documentation passes', async (t) => {
  const suites = programs.filter(({ code }) => code.includes("from 'node:test'"))
  const together = join(scratch, 'suites.ts')
  writeFileSync(together, suites.map(({ file }) => `import '${file}'\n`).join(''))
  const child = fork(together, { cwd: scratch, silent: true })
  const output = collectOutput(child.stdout)
  const [status] = await once(child, 'close')
  t.equal(status, 0, output())
  const [, passed] = /pass (\d+)/.exec(output()) ?? []
  t.ok(Number(passed) >= suites.length, 'each has a test')
})

test('every secret for HS256 has 32 bytes or more (RFC 7518, section 3.2)', async (t) => {
  const secrets = blocks.flatMap(({ code }) => [...code.matchAll(/jwt, \{ secret: '([^']*)'/g)])
  t.ok(secrets.length > 0)
  for (const [, secret = ''] of secrets) t.ok(Buffer.byteLength(secret) >= 32, secret)
})

const conversations = new Map<string, ReturnType<typeof parseCommands>>()
for (const { page, language, code } of blocks) {
  // `npm run test:stranger` sends those of the tutorial to the service of the tutorial.
  if (language === 'console' && page !== 'docs/tutorial.md') conversations.set(page, [...(conversations.get(page) ?? []), ...parseCommands(code)])
}

const curl = isInstalled('curl') && isInstalled('bash')

/** Starts the program of README.md. The commands of the other pages are for the example service. */
async function startReadme () {
  const { code = '' } = programs.find(({ page }) => page === 'README.md') ?? {}
  const port = await freePort()
  const file = join(scratch, 'readme-service.ts')
  writeFileSync(file, code.replace('port: 0', `port: ${port}`))
  const { child, errors } = alone(process.execPath, [file], { cwd: scratch })
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new Error(errors())
    await delay(50)
  }
  return { child, address: `http://localhost:${port}` }
}

for (const [page, all] of conversations) {
  test(`every command in ${page} responds as documented`, { skip: curl ? false : 'there is no curl' }, async (t) => {
    const { child, address } = page === 'README.md' ? await startReadme() : await example()
    t.teardown(() => child.kill())
    const end = '-- end of output --'
    const script = all
      .map(
        ({ run }) =>
          `${run.replaceAll('http://localhost:3000', address).replace(/(?<=^|\()curl /, 'curl --silent --max-time 10 ')}\necho; echo '${end}'\n`
      )
      .join('')
    const { stdout } = await promisify(execFile)('bash', ['-c', script])
    const answers = stdout.replaceAll('\r', '').split(`${end}\n`)
    for (const [index, { run, shown }] of all.entries()) {
      t.match(`${answers[index]!.replace(/\n*$/, '')}\n`, shown.length === 0 ? /^\n$/ : toPattern(shown), run)
    }
  })
}

// The tables of docs/http.md: each row is requested.

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String(),
  tenant: Type.String({ immutable: true, default: 'public' }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true }),
  removedAt: Type.Optional(Type.String({ format: 'date-time', readOnly: true }))
})
const [ada, grace] = ['1', '2'].map((digit) => ({
  id: `01900000-0000-7000-8000-00000000000${digit}`,
  email: digit,
  tenant: 'public',
  updatedAt: '2026-01-01T00:00:00.000Z'
})) as [Static<typeof User>, Static<typeof User>]
const removed = { ...grace, removedAt: '2026-01-01T00:00:00.000Z' }
const { id } = ada
const none = '01900000-0000-7000-8000-000000000009'
const base = { name: 'users', schema: User, unique: ['email'] as ['email'], storage: memory({ items: [ada, grace] }) }
type Variation = Partial<Parameters<typeof define<typeof User>>[0]>

interface Question extends Omit<InjectOptions, 'url'> {
  readonly at?: string
  readonly given?: Variation
  readonly features?: ReadonlyArray<Feature<object, unknown>>
}
type CreateQuestion = (tag: string) => Question

const merge = (payload: object | string, type = 'application/merge-patch+json'): Question => ({
  payload,
  headers: { 'content-type': type }
})
const steps = (...payload: object[]): Question => merge(JSON.stringify(payload), 'application/json-patch+json')
const broken = (type = 'application/json'): Question => ({ payload: '{', headers: { 'content-type': type } })
const required: Variation = { etag: { required: true } }

const keyed: Question = { payload: { email: '3' }, headers: { 'idempotency-key': '"a"' } }
const bulkUpdate: Question = { payload: { email: '3' }, features: [bulk({ update: true })] }
const bulkRemove = (maximum = 10): Question => ({ features: [bulk({ remove: true, maximum })] })
/** A storage with a receipt for every key. */
const withReceipt = (standing: Partial<Receipt>): Pick<Question, 'given' | 'features'> => ({
  features: [idempotency()],
  given: {
    storage: failing((storage) => {
      storage.receipts!.claim = async (claim) => ({ ...claim, ...standing })
    })
  }
})

const requests: Readonly<Record<string, Readonly<Record<string, CreateQuestion>>>> = {
  Collection: {
    'GET, HEAD: a page of items': () => ({}),
    'GET, HEAD: there are more pages': () => ({ at: '?limit=1' }),
    'GET, HEAD: If-None-Match contains the tag of the page': (tag) => ({ headers: { 'if-none-match': tag } }),
    'GET, HEAD: If-Match contains another tag': () => ({ headers: { 'if-match': '"other"' } }),
    'GET, HEAD: count=true': () => ({ at: '?count=true' }),
    'GET, HEAD: limit, cursor, offset, sort, fields or count is invalid': () => ({ at: '?sort=colour' }),
    'GET, HEAD: a filter value is invalid': () => ({ at: '?updatedAt.gte=yesterday' }),
    'GET, HEAD: an unknown query parameter': () => ({ at: '?colour=red' }),
    'GET, HEAD: Accept matches no format': () => ({ headers: { accept: 'image/png' } }),
    'QUERY: a page of items; a GET can express the same query': () => ({ payload: { filter: { email: '1' } } }),
    'QUERY: a page of items; no GET can express the same query': () => ({
      payload: { filter: { not: { email: '1' } } }
    }),
    'QUERY: If-None-Match contains the tag of the page': (tag) => ({ payload: {}, headers: { 'if-none-match': tag } }),
    'QUERY: the query is invalid': () => ({ payload: { filter: { colour: 'red' } } }),
    'QUERY: Content-Type is missing': () => ({}),
    'QUERY: Content-Type is not supported': () => broken('text/plain'),
    'POST: the item is created': () => ({ payload: { email: '3' } }),
    'POST: the item is created, Prefer: return=minimal': () => ({
      payload: { email: '3' },
      headers: { prefer: 'return=minimal' }
    }),
    'POST: If-Match, or If-None-Match with entity tags': () => ({
      payload: { email: '3' },
      headers: { 'if-match': '"other"' }
    }),
    'POST: If-None-Match: *': () => ({ payload: { email: '3' }, headers: { 'if-none-match': '*' } }),
    'POST: the content is missing or malformed': () => broken(),
    'POST: the content does not match the schema': () => ({ payload: { email: 3 } }),
    'POST: the id or a unique value already exists': () => ({ payload: { email: '1' } }),
    'POST: Content-Type is not supported': () => ({
      payload: 'email=3',
      headers: { 'content-type': 'application/x-www-form-urlencoded' }
    }),
    'POST: Content-Encoding is not supported': () => ({
      payload: { email: '3' },
      headers: { 'content-encoding': 'rot13' }
    }),
    'POST: the content is larger than bodyLimit': () => ({
      payload: { email: '3'.repeat(99) },
      given: { routes: { create: { bodyLimit: 50 } } }
    }),
    'POST: Accept matches no format': () => ({ payload: { email: '3' }, headers: { accept: 'image/png' } }),
    'POST: the request is repeated with the same Idempotency-Key': () => ({
      ...keyed,
      ...withReceipt({ answer: JSON.stringify({ item: { id: '1', item: { id: '1' }, version: 'a' }, isCreated: true }) })
    }),
    'POST: the first request with the Idempotency-Key is still running': () => ({ ...keyed, ...withReceipt({}) }),
    'POST: the Idempotency-Key was used for another request': () => ({ ...keyed, ...withReceipt({ fingerprint: '' }) }),
    'POST: Idempotency-Key is malformed': () => ({
      ...keyed,
      headers: { 'idempotency-key': '""' },
      features: [idempotency()]
    }),
    'POST: Idempotency-Key is missing, idempotency({ required: true })': () => ({
      payload: { email: '3' },
      features: [idempotency({ required: true })]
    }),
    'PATCH: all items that match are changed, bulk({ update: true })': () => ({ ...bulkUpdate, at: '?email=1' }),
    'PATCH: there is no condition, bulk({ update: true })': () => bulkUpdate,
    'PATCH: If-Match, If-None-Match or If-Unmodified-Since, bulk({ update: true })': (tag) => ({
      ...bulkUpdate,
      at: '?email=1',
      headers: { 'content-type': 'application/json', 'if-match': tag }
    }),
    'PATCH: the content is a JSON Patch, bulk({ update: true })': () => ({
      ...bulkUpdate,
      ...steps({ op: 'remove', path: '/email' }),
      at: '?email=1'
    }),
    'PATCH: one of the items would be invalid, bulk({ update: true })': () => ({
      ...bulkUpdate,
      payload: { email: 1 },
      at: '?email=1'
    }),
    'DELETE: all items that match are removed, bulk({ remove: true })': () => ({ ...bulkRemove(), at: '?email=1' }),
    'DELETE: no item matches, bulk({ remove: true })': () => ({ ...bulkRemove(), at: '?email=none' }),
    'DELETE: all items that match are removed, bulk({ remove: true }), Prefer: return=minimal': () => ({
      ...bulkRemove(),
      at: '?email=1',
      headers: { prefer: 'return=minimal' }
    }),
    'DELETE: more items match than maximum, bulk({ remove: true })': () => ({ ...bulkRemove(1), at: '?email.in=1,2' }),
    'OPTIONS: always': () => ({}),
    'any other: always': () => ({ method: 'DELETE' })
  },
  Item: {
    'GET, HEAD: the item exists': () => ({}),
    'GET, HEAD: fields selects properties': () => ({ at: `/${id}?fields=email` }),
    'GET, HEAD: fields is invalid': () => ({ at: `/${id}?fields=colour` }),
    'GET, HEAD: If-None-Match contains the tag of the item': (tag) => ({ headers: { 'if-none-match': tag } }),
    'GET, HEAD: the item has not changed since If-Modified-Since': () => ({
      headers: { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }
    }),
    'GET, HEAD: If-Match contains another tag': () => ({ headers: { 'if-match': '"other"' } }),
    'GET, HEAD: the item does not exist': () => ({ at: `/${none}` }),
    'GET, HEAD: no item can have the id': () => ({ at: '/none' }),
    'GET, HEAD: Accept matches no format': () => ({ headers: { accept: 'image/png' } }),
    'PUT: the item is replaced': () => ({ payload: { email: '3' } }),
    'PUT: the item is replaced, Prefer: return=minimal': () => ({
      payload: { email: '3' },
      headers: { prefer: 'return=minimal' }
    }),
    'PUT: the item does not exist': () => ({ at: `/${none}`, payload: { email: '3' } }),
    'PUT: the item does not exist, put: { create: true }': () => ({
      at: `/${none}`,
      payload: { email: '3' },
      given: { put: { create: true } }
    }),
    'PUT: If-Match contains another tag, even if the content is malformed': () => ({
      payload: '{',
      headers: { 'content-type': 'application/json', 'if-match': '"other"' }
    }),
    'PUT: If-None-Match: *, and the item exists': () => ({
      payload: { email: '3' },
      headers: { 'if-none-match': '*' }
    }),
    'PUT: no precondition, etag: { required: true }': () => ({ payload: { email: '3' }, given: required }),
    'PUT: the content is malformed': () => broken(),
    'PUT: the request has Content-Range': () => ({
      payload: { email: '3' },
      headers: { 'content-range': 'bytes 0-9/20' }
    }),
    'PUT: the content does not match the schema': () => ({ payload: { email: 3 } }),
    'PUT: the id in the content differs from the URI': () => ({ payload: { id: none, email: '3' } }),
    'PUT: an immutable property would change': () => ({ payload: { email: '3', tenant: 'other' } }),
    'PUT: a unique value already exists': () => ({ payload: { email: '2' } }),
    'PUT: Content-Type is not supported': () => broken('text/plain'),
    'PATCH: a merge patch is applied': () => merge({ email: '3' }),
    'PATCH: a JSON Patch is applied': () => steps({ op: 'replace', path: '/email', value: '3' }),
    'PATCH: the patch is applied, Prefer: return=minimal': () => ({
      payload: { email: '3' },
      headers: { prefer: 'return=minimal' }
    }),
    'PATCH: the item does not exist': () => ({ at: `/${none}`, payload: { email: '3' } }),
    'PATCH: If-Match contains another tag, even if the content is malformed': () => ({
      payload: '{',
      headers: { 'content-type': 'application/json', 'if-match': '"other"' }
    }),
    'PATCH: no precondition, etag: { required: true }': () => ({ payload: { email: '3' }, given: required }),
    'PATCH: the content is malformed': () => broken(),
    'PATCH: a test of a JSON Patch fails': () => steps({ op: 'test', path: '/email', value: '3' }),
    'PATCH: a JSON Patch names a path that does not exist': () => steps({ op: 'remove', path: '/colour' }),
    'PATCH: a readOnly or immutable property would change': () => merge({ tenant: 'other' }),
    'PATCH: the result does not match the schema': () => merge({ email: null }),
    'PATCH: Content-Type is not supported': () => broken('application/xml'),
    'PATCH: the request is repeated with the same Idempotency-Key': () => ({
      ...keyed,
      ...withReceipt({ answer: JSON.stringify({ item: { id: '1', item: { id: '1' }, version: 'a' }, isCreated: false }) })
    }),
    'DELETE: the item is removed': () => ({}),
    'DELETE: the item is removed, Prefer: return=representation': () => ({
      headers: { prefer: 'return=representation' }
    }),
    'DELETE: a JSON Content-Type and no content': () => ({ headers: { 'content-type': 'application/json' } }),
    'DELETE: the item does not exist, or was removed before': () => ({ at: `/${none}` }),
    'DELETE: If-Match contains another tag': () => ({ headers: { 'if-match': '"other"' } }),
    'DELETE: no precondition, etag: { required: true }': () => ({ given: required }),
    'GET, HEAD, PUT, PATCH, DELETE: the item has moved, redirects': () => ({
      at: '/none',
      features: [redirects({ to: () => id })]
    }),
    'GET, HEAD, PUT, PATCH, DELETE: the item was deleted, softDelete': () => ({
      at: `/${removed.id}`,
      given: { storage: memory({ items: [ada, removed] }) },
      features: [softDelete({ property: 'removedAt' })]
    }),
    'OPTIONS: always': () => ({}),
    'any other: always': () => ({ method: 'POST' })
  },
  'Any request': {
    'any: the caller is anonymous, and access.allow requires a caller': () => ({
      given: { access: { authenticate: () => undefined } }
    }),
    'any: access.allow refuses the caller': () => ({
      given: { access: { authenticate: () => 'ada', allow: () => false } }
    }),
    'POST: a custom action, sent by a page of another origin without a CORS preflight': () => ({
      at: `/${id}/look`,
      headers: { 'sec-fetch-site': 'cross-site' },
      features: [action('look', { run () {} }) as unknown as Feature<object>]
    }),
    "any: access.allow returns 'hidden'": () => ({ given: { access: { allow: () => 'hidden' } } }),
    'any: the item is outside the access.scope of the caller': () => ({
      given: { access: { scope: () => ({ values: { tenant: 'other' } }) } }
    }),
    'PUT, PATCH: the item would be outside the access.scope of the caller': () => ({
      payload: { email: '3' },
      given: { access: { scope: () => ({ filter: { email: '1' } }) } }
    }),
    'any: a hook throws an error with a status': () => ({
      given: {
        routes: {
          all: {
            onRequest: async () => {
              throw Object.assign(new Error(), { statusCode: 418 })
            }
          }
        }
      }
    }),
    'any: the storage is unreachable': () => ({
      given: {
        storage: failing((storage) => {
          storage.find = async () => {
            throw Object.assign(new Error(), { unreachable: true })
          }
        })
      }
    }),
    'any: any other error is thrown': () => ({
      given: {
        storage: failing((storage) => {
          storage.find = async () => {
            throw new Error()
          }
        })
      }
    }),
    'PUT, PATCH: no precondition, and other writes came first 20 times': () => ({
      payload: { email: '3' },
      given: {
        storage: failing((storage) => {
          storage.replace = async () => ({ refused: 'stale' })
        })
      }
    })
  }
}

function failing (spoil: (storage: Storage<Static<typeof User>>) => void): Adapter<Static<typeof User>> {
  return (shape) => {
    const storage = base.storage(shape)
    spoil(storage)
    return storage
  }
}

for (const [heading, questions] of Object.entries(requests)) {
  const [, ...table] = rows('docs/http.md', heading)
  test(`docs/http.md, ${heading.toLowerCase()}: every row matches, and every question has a row`, async (t) => {
    t.same(
      table.map(([methods, situation]) => `${methods}: ${situation}`),
      Object.keys(questions)
    )
    const clock = controlClock(t)
    for (const [methods = '', situation, status, fields = ''] of table) {
      for (const method of methods.split(', ')) {
        const { statusCode, headers } = await answer(questions[`${methods}: ${situation}`]!, {
          method,
          item: heading !== 'Collection',
          clock
        })
        t.equal(statusCode, status === 'of the error' ? 418 : Number(status), `${method}: ${situation}`)
        const all = [
          'Cache-Control',
          'Vary',
          'X-Content-Type-Options',
          ...(statusCode >= 400 ? ['Content-Type'] : []),
          ...fields.split(', ').filter((field) => /^[A-Z]/.test(field))
        ]
        t.same(
          all.filter((field) => headers[field.toLowerCase()] === undefined),
          [],
          `${method}: ${situation}`
        )
      }
    }
  })
}

async function answer (
  createQuestion: CreateQuestion,
  { method, item, clock }: { method: string; item: boolean; clock: Clock }
) {
  const { given: options, features: added = [] } = createQuestion('')
  const path = item ? `/users/${id}` : '/users'
  const app = Fastify()
  await app.register(collection, define({ ...base, ...options }).with(...added))
  // Last-Modified is sent a minute after a change.
  clock.advance(120_000)
  const { headers } = await app.inject(path)
  const { at, given, features, ...call } = createQuestion(String(headers.etag))
  return await app.inject({
    method: method.startsWith('any') ? 'GET' : (method as 'GET'),
    ...call,
    url: at === undefined ? path : `/users${at}`
  })
}

// Tables and links.

test('docs/problems.md lists the problems of lib/http/problems.ts, and no others', async (t) => {
  const documented = rows('docs/problems.md')
    .filter(([, status]) => /^\d+$/.test(status ?? ''))
    .map(([name, status, title]) => [name, Number(status), title])
  t.same(
    documented,
    Object.entries(problems).map(([name, { status, title }]) => [name, status, title])
  )
})

test('docs/definition.md has every option in its table and a section for it, and no others', async (t) => {
  const [whole, groups] = [
    optionNames.filter((name) => !name.includes('.')),
    optionNames.filter((name) => name.includes('.'))
  ]
  const sections = text('docs/definition.md').split(/^## /m).slice(1)
  t.same(
    sections.map((section) => section.split('\n')[0]),
    whole
  )
  t.same(
    rows('docs/definition.md', 'The definition')
      .slice(1)
      .map(([option]) => /\[(\w+)\]/.exec(option!)?.[1]),
    whole
  )
  for (const name of groups) {
    const [group = '', ...rest] = name.split('.')
    const section = sections[whole.indexOf(group)]!
    t.ok(section.includes(`### ${name}\n`) || section.includes(`${rest.at(-1)}?:`), name)
  }
})

test('docs/storage.md matches the `supports` of each storage', async (t) => {
  const [head = [], ...lines] = rows('docs/storage.md', 'What each supports')
  const real: Record<string, Supports> = { memory: memory()(things).supports, ...(await sqlStorages()) }
  t.same(head.slice(1), Object.keys(real))
  for (const [index, name] of Object.keys(real).entries()) {
    const documented = Object.fromEntries(lines.map((cells) => [cells[0]!.split(':')[0], cells[index + 1] === 'yes']))
    t.same(documented, real[name], name)
  }
})

async function sqlStorages (): Promise<Record<string, Supports>> {
  const { sqlite } = await import('../lib/storage/sqlite.ts')
  const { postgres } = await import('../lib/storage/postgres.ts')
  const { mysql } = await import('../lib/storage/mysql.ts')
  const { default: pg } = await import('pg')
  const { createPool } = await import('mysql2/promise')
  // Neither pool connects before the first statement.
  const database = new DatabaseSync(':memory:')
  const adapters = { sqlite: sqlite(database), postgres: postgres(new pg.Pool()), mysql: mysql(createPool({})) }
  return Object.fromEntries(Object.entries(adapters).map(([name, adapter]) => [name, adapter(things).supports]))
}

test('every file that the documentation names exists', async (t) => {
  const named = pages.flatMap((page) => text(page).match(/(?<=`)(lib|test|examples)\/[\w./-]+(?=`)/g) ?? [])
  const files = ['Collection', 'Item', 'Any request']
    .flatMap((heading) => rows('docs/http.md', heading).slice(1))
    .map((cells) => `lib/${cells[4]}`)
  const drawn = blocks
    .filter(({ page, language }) => page === 'docs/http.md' && language === '')
    .flatMap(({ code }) => code.match(/(?<![\w<>/-])[\w-]+(\/[\w-]+)*\.ts/g) ?? [])
  t.ok(drawn.length > 0)
  t.same(
    [...named, ...files, ...drawn.map((file) => `lib/${file}`)].filter((file) => !existsSync(join(root, file))),
    []
  )
})

test('every link within the documentation resolves', async (t) => {
  const links = pages.flatMap((page) =>
    [...text(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, target = '']) => ({ page, target }))
  )
  t.same(
    links.filter(({ page, target }) => {
      const [path, anchor] = target.split('#') as [string, string?]
      const file = path === '' ? page : join(page, '..', path)
      return !existsSync(join(root, file)) || (anchor !== undefined && !anchors(file).includes(anchor))
    }),
    []
  )
})

test('docs/README.md lists every page once, in four groups', async (t) => {
  const groups = ['Start', 'Guides', 'Reference', 'Background']
  const listed = groups.flatMap((group) => {
    return rows('docs/README.md', group).slice(1).map(([link]) => `docs/${/\((.*)\)/.exec(link!)?.[1]}`)
  })
  t.strictSame(
    listed.toSorted(),
    pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md').toSorted()
  )
})

test('no two headings of a page have the same anchor', async (t) => {
  for (const page of pages) t.equal(new Set(anchors(page)).size, anchors(page).length, page)
})

function anchors (page: string): string[] {
  return [...text(page).matchAll(/^#+ (.*)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-')
  )
}

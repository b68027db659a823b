import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import type { Test } from 'tap'
import type { Thing } from '../../lib/storage/conformance.ts'
import type { Context } from '../../lib/storage/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { things } from './things.ts'

// Writes of one turn of the event loop, in one transaction of SQLite.

const context: Context = { signal: new AbortController().signal, scope: undefined }
const thing = (id: string, more: Thing = {}): Thing => ({ id, name: id, ...more })
const names = (count: number) => Array.from({ length: count }, (_, number) => `thing ${number}`)

/** A database in a file, what was executed beside prepared statements, and what another connection sees. */
async function open (t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'collections-batch-'))
  const file = join(folder, 'app.db')
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL')
  const other = new DatabaseSync(file)
  t.teardown(async () => {
    database.close()
    other.close()
    await rm(folder, { recursive: true, force: true })
  })
  const executed: string[] = []
  const handle = {
    exec (text: string) {
      executed.push(text)
      database.exec(text)
    },
    prepare: (text: string) => database.prepare(text),
    function: database.function.bind(database)
  }
  const adapter = sqlite(handle)
  await adapter.createTable(things)
  executed.splice(0)
  const listNames = () =>
    other
      .prepare('SELECT id FROM things ORDER BY id')
      .all()
      .map(({ id }) => id)
  return { database, other, adapter, storage: adapter<Thing>(things), executed, listNames }
}

test('parallel writes are committed together, and resolve after the commit', async (t) => {
  const { storage, executed, listNames } = await open(t)
  const first = storage.insert(thing('first'), context)
  t.strictSame(listNames(), ['first'], 'the first does not wait')
  const others = names(9).map((name) => storage.insert(thing(name), context))
  t.strictSame(listNames(), ['first'])
  const sights = await Promise.all(others.map((other) => other.then(() => listNames().length)))
  t.strictSame(
    sights,
    names(9).map(() => 10),
    'no write is confirmed before the commit'
  )
  t.match(await first, { id: 'first' })
  t.strictSame(executed, ['BEGIN IMMEDIATE', 'COMMIT'])
  await Promise.all([storage.remove('first', undefined, context), storage.remove('thing 0', undefined, context)])
  t.strictSame(executed, ['BEGIN IMMEDIATE', 'COMMIT'], 'a single write needs no transaction')
  t.equal(listNames().length, 8)
})

test('all storages on a handle share a batch', async (t) => {
  const { adapter, storage, executed } = await open(t)
  const second = adapter<Thing>(things)
  await Promise.all(
    [storage, second, storage, second].map((storage, number) => storage.insert(thing(`thing ${number}`), context))
  )
  t.strictSame(executed, ['BEGIN IMMEDIATE', 'COMMIT'])
})

test('each write to one item in a batch sees the result of the write before it', async (t) => {
  const { storage } = await open(t)
  const created = await storage.insert(thing('raced'), context)
  if ('refused' in created) throw new Error('not made')
  const results = await Promise.all(
    names(5).map((name) => storage.replace('raced', thing('raced', { name }), created.version, context))
  )
  t.strictSame(
    results.map((result) => ('refused' in result ? result.refused : result.item['name'])),
    ['thing 0', 'stale', 'stale', 'stale', 'stale']
  )
})

test(
  'if one write of a batch fails, the others succeed, and each gets its own result',
  async (t) => {
    const { database, storage, executed, listNames } = await open(t)
    database.exec(`
    CREATE TABLE owners (id TEXT NOT NULL PRIMARY KEY) STRICT;
    CREATE TABLE owned (id TEXT NOT NULL, owner TEXT NOT NULL REFERENCES owners DEFERRABLE INITIALLY DEFERRED) STRICT;
    CREATE TRIGGER undone BEFORE INSERT ON things WHEN NEW.id = 'undone' BEGIN SELECT RAISE(ROLLBACK, 'undone on purpose'); END;
    CREATE TRIGGER orphaned AFTER INSERT ON things WHEN NEW.id = 'orphaned' BEGIN INSERT INTO owned VALUES (NEW.id, 'missing'); END`)
    const failures: Record<string, object> = {
      /** SQLite rolls back only the statement. */
      'thing 0': { refused: 'not-unique', properties: ['id'] },
      /** SQLite rolls back the transaction. */
      undone: { message: 'undone on purpose' },
      /** Reported by COMMIT. */
      orphaned: { refused: 'conflict' }
    }
    await storage.insert(thing('thing 0'), context)
    for (const [id, failure] of Object.entries(failures)) {
      executed.splice(0)
      const ids = [...names(4).map((name) => `${id}: ${name}`), id, `${id}: last`]
      const results = await Promise.all(
        ids.map((id) => storage.insert(thing(id), context).catch((error: unknown) => error))
      )
      t.match(
        results,
        ids.map((one) => (one === id ? failure : { id: one })),
        id
      )
      t.strictSame(
        listNames().filter((one) => String(one).startsWith(`${id}: `)),
        ids.filter((one) => one !== id).sort(),
        'all the others'
      )
      t.ok(executed.includes('ROLLBACK'))
    }
  }
)

test(
  'a write that meets a transaction, the lock of another process or a full disk is done alone',
  async (t) => {
    const { database, other, storage, executed, listNames } = await open(t)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const before = storage.insert(thing('before'), context)
    const waiting = names(3).map((name) => storage.insert(thing(name), context))
    const transaction = storage.transaction!(() => held, context)
    await before
    setImmediate(release)
    await Promise.all([transaction, ...waiting])
    t.equal(listNames().length, 4)

    executed.splice(0)
    other.exec('BEGIN IMMEDIATE')
    const locked = names(3).map((name) => storage.remove(name, undefined, context))
    setTimeout(() => other.exec('COMMIT'), 20)
    t.strictSame(await Promise.all(locked), [undefined, undefined, undefined])
    t.strictSame(executed, ['BEGIN IMMEDIATE'])
    t.strictSame(listNames(), ['before'])

    const [{ page_count: pages } = {}] = database.prepare('PRAGMA page_count').all()
    database.exec(`PRAGMA max_page_count = ${Number(pages)}`)
    const full = await Promise.all(
      ['a', 'big', 'b'].map((id) =>
        storage
          .insert(thing(id, id === 'big' ? { note: 'x'.repeat(1_000_000) } : {}), context)
          .catch((error: unknown) => error)
      )
    )
    t.match(full, [{ id: 'a' }, { unreachable: true }, { id: 'b' }])
    t.strictSame(listNames(), ['a', 'b', 'before'])
  }
)

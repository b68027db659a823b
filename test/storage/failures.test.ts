import { execFile } from 'node:child_process'
import type { EventEmitter } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'
import driver from 'mysql2/promise'
import { test } from 'tap'
import type { Test } from 'tap'
import type { Thing } from '../../lib/storage/conformance.ts'
import type { Context, Entry, Query, Refusal, Storage } from '../../lib/storage/index.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { isMariadb, mysqlPool, noMysql, noServers } from './databases.ts'
import { freePort } from '../ports.ts'
import { startPostgres } from './servers.ts'
import { things } from './things.ts'

const context: Context = { signal: new AbortController().signal, scope: undefined }

/** A context whose signal aborts after this time; unlike AbortSignal.timeout, it keeps the process alive. */
function within (milliseconds: number): Context {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), milliseconds)
  return { signal: controller.signal, scope: undefined }
}

const everything: Query = {
  filter: undefined,
  search: undefined,
  order: [{ property: 'id', descending: false }],
  after: undefined,
  before: undefined,
  limit: 100,
  properties: undefined,
  count: false
}
const unreachable = { unreachable: true, retryAfter: 1 }
const thing = (id: string, more: Thing = {}): Thing => ({ id, name: id, ...more })

function toEntry (result: Entry<Thing> | Refusal | undefined): Entry<Thing> {
  if (result === undefined || 'refused' in result) throw new Error(`not an entry: ${JSON.stringify(result)}`)
  return result
}

/** Returns the reason of a rejection, with a mark if waiting cannot help. */
async function failure (promise: Promise<unknown>): Promise<unknown> {
  const error: unknown = await promise.then(
    () => {
      throw new Error('it did not fail')
    },
    (reason: unknown) => reason
  )
  return error instanceof Error && !('unreachable' in error) ? Object.assign(error, { plain: true }) : error
}

/** Runs a transaction, which every storage here supports. */
function transact<Result> (storage: Storage<Thing>, work: (inner: Storage<Thing>) => Promise<Result>): Promise<Result> {
  if (storage.transaction === undefined) throw new Error('no transactions')
  return storage.transaction(work, context)
}

async function until (holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (await holds()) return
    await delay(20)
  }
  throw new Error('the condition was never met')
}

/** A statement that times out in a transaction rejects, and its later result does not end the process. */
async function checkAbort (t: Test, storage: Storage<Thing>, lock: () => Promise<() => Promise<void>>): Promise<void> {
  const late: unknown[] = []
  const note = (error: unknown) => {
    late.push(error)
  }
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const unlock = await lock()
  for (let turn = 0; turn < 5; turn++) {
    t.match(
      await failure(transact(storage, (inner) => inner.find('a', { ...context, signal: AbortSignal.abort() }))),
      unreachable
    )
  }
  await unlock()
  await delay(100)
  t.same(late, [])
  t.equal(await storage.find('missing', context), undefined)
}

/** Two transactions that each wait for a row of the other. Returns their errors. */
async function deadlock (storage: Storage<Thing>): Promise<unknown[]> {
  const a = toEntry(await storage.insert(thing('a'), context))
  const b = toEntry(await storage.insert(thing('b'), context))
  let halfway = 0
  const cross = (first: Entry<Thing>, second: Entry<Thing>) =>
    transact(storage, async (inner) => {
      toEntry(await inner.replace(first.id, { ...first.item, note: 'crossed' }, undefined, context))
      halfway++
      await until(async () => halfway >= 2)
      toEntry(await inner.replace(second.id, { ...second.item, note: 'crossed' }, undefined, context))
    })
  return (await Promise.allSettled([cross(a, b), cross(b, a)])).flatMap((result) =>
    result.status === 'rejected' ? [result.reason] : []
  )
}

test('sqlite', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'collections-sqlite-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'app.db')
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  const adapter = sqlite(database)
  await adapter.createTable(things)
  const storage = adapter<Thing>(things)

  await t.test(
    'a write that meets the lock of another process is retried, and done once the lock is released',
    async (t) => {
      const other = new DatabaseSync(file)
      other.exec('BEGIN IMMEDIATE')
      const waiting = storage.insert(thing('patient'), context)
      await delay(20)
      other.exec('COMMIT')
      t.equal(toEntry(await waiting).id, 'patient')
      other.close()
    }
  )

  await t.test(
    'a lock that stays is reported as unreachable, for statements and transactions, and the next call works',
    async (t) => {
      const other = new DatabaseSync(file)
      other.exec('BEGIN IMMEDIATE')
      t.match(await failure(storage.insert(thing('late'), context)), { ...unreachable, cause: { errcode: 5 } })
      t.match(await failure(transact(storage, (inner) => inner.insert(thing('late'), context))), unreachable)
      other.exec('ROLLBACK')
      other.close()
      t.equal(toEntry(await storage.insert(thing('late'), context)).id, 'late')
    }
  )

  await t.test('a call that waits for another transaction stops waiting when its signal aborts', async (t) => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const transaction = transact(storage, async (inner) => {
      await inner.insert(thing('inside'), context)
      await held
    })
    t.match(await failure(storage.find('inside', within(30))), unreachable)
    t.match(await failure(storage.find('inside', { ...context, signal: AbortSignal.abort() })), unreachable)
    const found = storage.find('inside', context)
    release()
    await transaction
    t.equal(toEntry(await found).id, 'inside')
  })

  await t.test('two storages on one handle share its transactions', async (t) => {
    const other = sqlite(database)<Thing>(things)
    const seen: Array<Promise<unknown>> = []
    t.match(
      await failure(
        transact(storage, async (inner) => {
          await inner.insert(thing('undone'), context)
          seen.push(other.find('undone', context))
          await delay(10)
          throw new Error('on purpose')
        })
      ),
      { message: 'on purpose' }
    )
    t.same(await Promise.all(seen), [undefined])
    t.equal(
      await transact(storage, (inner) => transact(inner, async () => 'one within the other')),
      'one within the other'
    )
  })

  await t.test('a transaction that SQLite has already rolled back rejects with the original error', async (t) => {
    t.match(
      await failure(
        transact(storage, async () => {
          database.exec('ROLLBACK')
          throw new Error('on purpose')
        })
      ),
      { message: 'on purpose' }
    )
    t.same(await storage.find('nothing', context), undefined)
  })

  await t.test('a full disk is reported as one, and leaves no partial write', async (t) => {
    const [{ page_count: pages } = {}] = database.prepare('PRAGMA page_count').all()
    database.exec(`PRAGMA max_page_count = ${Number(pages)}`)
    t.match(await failure(storage.insert(thing('big', { note: 'x'.repeat(1_000_000) }), context)), {
      ...unreachable,
      detail: /^The database of the server is full\./,
      hasNoEffect: true,
      cause: { errcode: 13 }
    })
    database.exec('PRAGMA max_page_count = 1000000')
    t.equal(await storage.find('big', context), undefined)
    t.equal(toEntry(await storage.insert(thing('big', { note: 'x'.repeat(1_000_000) }), context)).id, 'big')
  })

  await t.test('a file that has reached the limit of its size is 503 for writes, and is still read', async (t) => {
    const script = fileURLToPath(new URL('../fixtures/limited-file.ts', import.meta.url))
    // In blocks of 512 or 1024 bytes. Without the environment, because what tap adds to it ends the process at SIGXFSZ,
    // which Node.js itself ignores.
    const command = 'ulimit -f 200 && exec env -i "$0" "$1" "$2"'
    const given = ['-c', command, process.execPath, script, join(folder, 'limited.db')]
    const { stdout } = await promisify(execFile)('sh', given)
    const { written, refused, counts } = JSON.parse(stdout)
    t.ok(written > 0, `${written} items were written`)
    for (const { status, retryAfter, problem } of refused) {
      t.equal(status, 503)
      t.equal(retryAfter, '1')
      t.match(problem, {
        code: 'storage-unavailable',
        detail: /^The server cannot read or write the file of its database\./
      })
    }
    t.equal(refused.length, 2, 'a single write, and a transaction')
    t.strictSame(counts, [written, written], 'nothing of the refused writes is stored')
  })

  await t.test('a read-only file can be read, and a write to it is reported as read-only', async (t) => {
    const readOnly = new DatabaseSync(file, { readOnly: true })
    const reader = sqlite(readOnly)<Thing>(things)
    t.equal(toEntry(await reader.find('big', context)).id, 'big')
    const readOnlyError = { ...unreachable, message: /^sqlite is read-only/, cause: { errcode: 8 } }
    t.match(await failure(reader.insert(thing('not'), context)), readOnlyError)
    t.match(await failure(transact(reader, (inner) => inner.remove('big', undefined, context))), readOnlyError)
    readOnly.close()
  })

  await t.test('a missing table is reported, and a closed database is a plain error', async (t) => {
    const closed = new DatabaseSync(':memory:')
    const gone = sqlite(closed)<Thing>(things)
    t.match(await failure(gone.find('a', context)), { ...unreachable, cause: { message: /no such table/ } })
    closed.close()
    t.match(await failure(gone.list(everything, context)), { plain: true })
  })

  await t.test('errors of better-sqlite3, which have names instead of numbers, are recognized', async (t) => {
    const errors = [
      Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY_SNAPSHOT' }),
      Object.assign(new Error('UNIQUE constraint failed: things.team, things.number'), {
        code: 'SQLITE_CONSTRAINT_UNIQUE'
      }),
      Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' }),
      Object.assign(new Error('FOREIGN KEY constraint failed'), { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' }),
      [],
      Object.assign(new Error('NOT NULL constraint failed: things.name'), { code: 'SQLITE_CONSTRAINT_NOTNULL' }),
      new Error('without a code'),
      'no error at all'
    ]
    const all = () => {
      const error = errors.shift()
      // The table has no foreign keys.
      if (Array.isArray(error)) return error
      throw error
    }
    const run = () => ({ changes: all().length })
    const broken = sqlite({ exec () {}, prepare: () => ({ raw () {}, all, iterate: all, run }) })<Thing>(things)
    t.same(
      await broken.insert(thing('a'), context),
      { refused: 'not-unique', properties: ['team', 'number'] },
      'busy at first'
    )
    t.match(await failure(broken.insert(thing('a'), context)), unreachable)
    t.same(await broken.insert(thing('a'), context), { refused: 'conflict' })
    t.same(await broken.insert(thing('a'), context), { refused: 'unstorable', properties: ['name'] })
    t.match(await failure(broken.insert(thing('a'), context)), { message: 'without a code', plain: true })
    t.equal(await broken.insert(thing('a'), context).catch((error: unknown) => error), 'no error at all')
  })

  await t.test('a driver that cannot return rows as arrays fails at boot', async (t) => {
    t.throws(
      () => sqlite({ exec () {}, prepare: () => ({ all: () => [], iterate: () => [], run: () => ({ changes: 0 }) }) }),
      {
        message:
          'This SQLite driver cannot return rows as arrays. Use node:sqlite or better-sqlite3.'
      }
    )
  })
})

test('postgres', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const pool = server.pool({ max: 12 })
  const adapter = postgres(pool)
  await adapter.createTable(things)
  const storage = adapter<Thing>(things)
  const lock = async () => {
    const client = await server.pool({ max: 1 }).connect()
    client.on('error', () => {})
    await client.query('BEGIN')
    await client.query('LOCK TABLE things IN ACCESS EXCLUSIVE MODE')
    return async () => {
      const broken = await client.query('ROLLBACK').then(
        () => false,
        () => true
      )
      client.release(broken)
    }
  }
  const running = async () => {
    const { rows } = await pool.query(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE state = 'active' AND wait_event_type = 'Lock'"
    )
    return rows[0].count
  }

  await t.test('of 50 parallel replaces that expect one version exactly one succeeds', async (t) => {
    const { version } = toEntry(await storage.insert(thing('raced'), context))
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, rank) => storage.replace('raced', thing('raced', { rank }), version, context))
    )
    t.equal(results.filter((result) => !('refused' in result)).length, 1)
    t.equal(results.filter((result) => 'refused' in result && result.refused === 'stale').length, 49)
  })

  await t.test('of two transactions in a deadlock one is done, and the other repeated', async (t) => {
    t.strictSame(await deadlock(storage), [])
    t.same(
      [toEntry(await storage.find('a', context)).item['note'], toEntry(await storage.find('b', context)).item['note']],
      ['crossed', 'crossed']
    )
  })

  await t.test('a nested transaction is part of the outer one', async (t) => {
    await t.rejects(
      transact(storage, async (inner) => {
        await transact(inner, (innermost) => innermost.insert(thing('nested'), context))
        throw new Error('on purpose')
      }),
      { message: 'on purpose' }
    )
    t.equal(await storage.find('nested', context), undefined)
  })

  await t.test('a serialization failure of a single statement is retried until it succeeds', async (t) => {
    const strict = server.pool({ max: 10, options: '-c default_transaction_isolation=serializable' })
    const serial = postgres(strict)<Thing>(things)
    toEntry(await serial.insert(thing('counted', { rank: 0 }), context))
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, rank) => serial.replace('counted', thing('counted', { rank }), undefined, context))
    )
    t.equal(results.filter((result) => !('refused' in result)).length, 10)
  })

  await t.test('a statement that exceeds a timeout of the server or driver is reported as unreachable', async (t) => {
    for (const [limit, cause] of [
      [{ statement_timeout: 50 }, { code: '57014' }],
      [{ query_timeout: 50 }, { message: 'Query read timeout' }]
    ] as const) {
      const unlock = await lock()
      const hasty = postgres(server.pool({ max: 1, ...limit }))<Thing>(things)
      t.match(await failure(hasty.find('a', context)), { ...unreachable, cause })
      await unlock()
      // On a busy machine, it may exceed the timeout again.
      await until(() => hasty.find('a', context).then((entry) => entry?.id === 'a', () => false))
    }
  })

  await t.test(
    'rows are described only in pipeline mode, and a pool with other types works',
    async (t) => {
      const item = thing('typed', { rank: 15, note: 'ü\u{1f600}' })
      for (const [options, described] of [
        [{}, false],
        [{ binary: true }, false],
        [{ pipeline: true }, true]
      ] as const) {
        const other = server.pool({ max: 1, ...options })
        let descriptions = 0
        // The types of pg omit the connection, which emits every message.
        other.on('connect', (client) =>
          (client as unknown as { connection: EventEmitter }).connection.on('rowDescription', () => descriptions++)
        )
        const typed = postgres(other)<Thing>(things)
        const { version } = toEntry(await typed.insert(item, context))
        t.strictSame(toEntry(await typed.find('typed', context)).item, item)
        t.match(await typed.insert(item, context), { refused: 'not-unique', properties: ['id'] })
        t.match(
          await transact(typed, async (inner) => [
            await inner.insert(item, context),
            await inner.replace('typed', item, 'another', context)
          ]),
          [{ refused: 'not-unique' }, { refused: 'stale' }]
        )
        t.equal(await typed.remove('typed', version, context), undefined)
        t.match(await typed.remove('typed', version, context), { refused: 'not-found' })
        t.equal(descriptions > 0, described, JSON.stringify(options))
      }
    }
  )

  await t.test('an aborted call rejects at once, and its statement is canceled', async (t) => {
    const unlock = await lock()
    await Promise.all(
      Array.from({ length: 5 }, () =>
        failure(storage.find('a', within(100))).then((error) => t.match(error, unreachable))
      )
    )
    // The lock is held until the end, so a response shows that nothing waited for it.
    await until(async () => (await running()) === 0)
    t.equal(await running(), 0)
    t.match(await failure(transact(storage, (inner) => inner.find('a', within(50)))), unreachable)
    t.match(
      await failure(storage.find('a', { ...context, signal: AbortSignal.abort() })),
      unreachable,
      'also if the signal was aborted before'
    )
    await unlock()
    t.equal(toEntry(await storage.find('a', context)).id, 'a')
  })

  await t.test('an aborted transaction causes no unhandled rejection', (t) =>
    checkAbort(t, storage, lock)
  )

  await t.test(
    'a pool without a connection in time is reported as unreachable, and an abort ends the wait',
    async (t) => {
      for (const [options, patience] of [
        [{ max: 1, connectionTimeoutMillis: 1000 }, 20_000],
        [{ max: 1 }, 100]
      ] as const) {
        const small = server.pool(options)
        const busy = await small.connect()
        const narrow = postgres(small)<Thing>(things)
        t.match(await failure(narrow.find('a', within(patience))), unreachable)
        busy.release()
        t.equal(toEntry(await narrow.find('a', context)).id, 'a')
        const unlock = await lock()
        t.match(await failure(narrow.find('a', within(50))), unreachable, 'no connection is left to cancel with')
        await unlock()
        t.equal(toEntry(await narrow.find('a', context)).id, 'a')
      }
    }
  )

  await t.test(
    'a connection dropped during a statement or a transaction is reported as unreachable',
    async (t) => {
      const end = () =>
        server
          .pool({ max: 1 })
          .query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'victim'"
          )
      const victim = postgres(server.pool({ application_name: 'victim' }))<Thing>(things)
      const unlock = await lock()
      const found = failure(victim.find('a', context)).then((error) => t.match(error, unreachable))
      await until(async () => (await running()) > 0)
      await end()
      await found
      await unlock()
      t.match(
        await failure(
          transact(victim, async (inner) => {
            await inner.replace('a', thing('a', { note: 'half' }), undefined, context)
            await end()
            await delay(100)
            await inner.find('a', context)
          })
        ),
        unreachable
      )
      t.not(toEntry(await victim.find('a', context)).item['note'], 'half')
    }
  )

  await t.test('a port without a server is reported as unreachable', async (t) => {
    const closedPort = postgres(server.pool({ port: await freePort() }))<Thing>(things)
    t.match(await failure(closedPort.find('a', context)), { ...unreachable, cause: { code: 'ECONNREFUSED' } })
    t.match(await failure(transact(closedPort, (inner) => inner.find('a', context))), unreachable)
    const unnamed = postgres(server.pool({ host: 'nowhere.invalid' }))<Thing>(things)
    t.match(await failure(unnamed.find('a', context)), { ...unreachable, cause: { code: /^(ENOTFOUND|EAI_AGAIN)$/ } })
  })

  await t.test(
    'a read-only server and a missing table are reported as unreachable, and a wrong password is a plain error',
    async (t) => {
      const standby = postgres(server.pool({ options: '-c default_transaction_read_only=on' }))<Thing>(things)
      t.match(await failure(standby.insert(thing('x'), context)), unreachable)
      t.match(await failure(postgres(pool, { table: 'nowhere' })<Thing>(things).find('a', context)), {
        ...unreachable,
        cause: { code: '42P01' }
      })
      t.match(await failure(postgres(server.pool({ password: 'wrong' }))<Thing>(things).find('a', context)), {
        code: '28P01',
        plain: true
      })
    }
  )

  await t.test(
    'a crashed server is unreachable, and the same pool works once it is back',
    async (t) => {
      toEntry(await storage.insert(thing('committed'), context))
      const unlock = await lock()
      const hanging = failure(storage.find('a', context)).then((error) => t.match(error, unreachable))
      await delay(100)
      await server.crash()
      await hanging
      await unlock()
      t.match(await failure(storage.find('committed', context)), unreachable)
      t.match(await failure(storage.insert(thing('lost'), context)), unreachable)
      await server.start()
      t.equal(toEntry(await storage.find('committed', context)).id, 'committed')
      t.equal(await storage.find('lost', context), undefined)
      t.equal(toEntry(await storage.insert(thing('lost'), context)).id, 'lost')
    }
  )

  await t.test('statements beyond the limit of named statements still run', async (t) => {
    for (let turn = 0; turn < 220; turn++) {
      const filter = { any: Array.from({ length: turn }, () => ({ property: 'id', is: 'eq', value: 'a' }) as const) }
      t.equal((await storage.list({ ...everything, filter }, context)).entries.length, turn === 0 ? 0 : 1)
    }
  })
})

test('mysql', { skip: noMysql }, async (t) => {
  const { pool, name, end } = await mysqlPool({ connectionLimit: 12 })
  t.teardown(end)
  const adapter = mysql(pool)
  await adapter.createTable(things)
  const storage = adapter<Thing>(things)
  const lock = async () => {
    const connection = await pool.getConnection()
    await connection.query('LOCK TABLES things WRITE')
    return async () => {
      await connection.query('UNLOCK TABLES')
      connection.release()
    }
  }
  const small = (options: driver.PoolOptions) => {
    const narrow = driver.createPool({
      uri: process.env['MYSQL_URL'] ?? '',
      database: name,
      connectionLimit: 1,
      ...options
    })
    t.teardown(() => narrow.end())
    return narrow
  }

  await t.test('an aborted transaction causes no unhandled rejection', (t) =>
    checkAbort(t, storage, lock)
  )

  await t.test('of 50 parallel replaces that expect one version exactly one succeeds', async (t) => {
    const { version } = toEntry(await storage.insert(thing('raced'), context))
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, rank) => storage.replace('raced', thing('raced', { rank }), version, context))
    )
    t.equal(results.filter((result) => !('refused' in result)).length, 1)
  })

  await t.test('of two transactions in a deadlock one is done, and the other repeated', async (t) => {
    t.strictSame(await deadlock(storage), [])
    t.same(
      [toEntry(await storage.find('a', context)).item['note'], toEntry(await storage.find('b', context)).item['note']],
      ['crossed', 'crossed']
    )
  })

  await t.test('an aborted call rejects at once, and its statement is canceled', async (t) => {
    const unlock = await lock()
    await Promise.all(
      Array.from({ length: 4 }, () =>
        failure(storage.find('a', within(100))).then((error) => t.match(error, unreachable))
      )
    )
    const executing = async () =>
      (
        await pool.query("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND COMMAND = 'Execute'")
      )[0]
    await until(async () => isDeepStrictEqual(await executing(), []))
    t.same(await executing(), [])
    t.match(await failure(transact(storage, (inner) => inner.find('a', within(50)))), unreachable)
    await unlock()
    t.equal(toEntry(await storage.find('a', context)).id, 'a')
  })

  await t.test('a statement that exceeds its time limit is reported as unreachable', async (t) => {
    const hasty = small({})
    const [limit, errno] = await isMariadb() ? ['max_statement_time = 0.05', 1969] : ['max_execution_time = 50', 3024]
    await hasty.query(`SET SESSION ${limit}`)
    const unlock = await lock()
    t.match(await failure(mysql(hasty)<Thing>(things).find('a', context)), { ...unreachable, cause: { errno } })
    await unlock()
  })

  await t.test(
    'an abort ends the wait for a free connection, and a full queue is reported as unreachable',
    async (t) => {
      for (const options of [{}, { queueLimit: 1 }]) {
        const narrow = small(options)
        const busy = await narrow.getConnection()
        const waiting = mysql(narrow)<Thing>(things)
        await Promise.all([
          failure(waiting.find('a', within(50))).then((error) => t.match(error, unreachable)),
          failure(waiting.find('a', within(50))).then((error) => t.match(error, unreachable))
        ])
        busy.release()
        t.equal(toEntry(await waiting.find('a', context)).id, 'a')
      }
    }
  )

  await t.test(
    'a connection dropped during a statement or a transaction is reported as unreachable',
    async (t) => {
      const narrow = small({})
      const victim = mysql(narrow)<Thing>(things)
      const unlock = await lock()
      const found = failure(victim.find('a', context)).then((error) => t.match(error, unreachable))
      const executing = async () =>
        (
          await pool.query(
            "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND COMMAND = 'Execute'"
          )
        )[0] as Array<{ id: number }>
      await until(async () => (await executing()).length > 0)
      const [{ id } = { id: 0 }] = await executing()
      await pool.query(`KILL ${id}`)
      await found
      await unlock()
      t.match(
        await failure(
          transact(victim, async (inner) => {
            await inner.replace('a', thing('a', { note: 'half' }), undefined, context)
            const [{ trx: mine } = { trx: 0 }] = (
              await pool.query('SELECT trx_mysql_thread_id AS trx FROM information_schema.INNODB_TRX')
            )[0] as Array<{ trx: number }>
            await pool.query(`KILL ${mine}`)
            await delay(100)
            await inner.find('a', context)
          })
        ),
        unreachable
      )
      t.not(toEntry(await victim.find('a', context)).item['note'], 'half')
    }
  )

  await t.test('a port without a server and a missing table are reported as unreachable', async (t) => {
    const closedPort = mysql(small({ port: await freePort() }))<Thing>(things)
    t.match(await failure(closedPort.find('a', context)), { ...unreachable, cause: { code: 'ECONNREFUSED' } })
    t.match(await failure(mysql(pool, { table: 'nowhere' })<Thing>(things).find('a', context)), {
      ...unreachable,
      cause: { errno: 1146 }
    })
  })
})

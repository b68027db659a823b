import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import type { Entry, Refusal, Storage } from '../../lib/storage/index.ts'
import type { Thing } from '../../lib/storage/conformance.ts'
import { gate } from '../app.ts'
import { databases, type Available, type Database } from './databases.ts'
import { things } from './things.ts'

// A write of several rows that waits for another transaction tests the versions again when that has committed. In
// SQLite, no transaction waits for a row.

const context = { signal: new AbortController().signal, scope: undefined }

const waiting: Readonly<Record<Exclude<Available['name'], 'sqlite'>, string>> = {
  postgres: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
  mysql: "SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
}

async function waitForLock (database: Database, name: keyof typeof waiting): Promise<void> {
  // InnoDB refreshes this table only if nothing has read it for a tenth of a second.
  while ((await database.rows(waiting[name])).length === 0) await delay(150)
}

type Writes = (inner: Storage<Thing>, entries: ReadonlyArray<Entry<Thing>>) => Promise<unknown>

const writes: ReadonlyArray<readonly [what: string, write: Writes]> = [
  ['removeMany', async (inner, entries) => inner.removeMany!(entries, context)],
  ['replaceMany', async (inner, entries) => {
    const lost = entries.map((before) => ({ before, item: { ...before.item, note: 'lost' } }))
    return inner.replaceMany!(lost, context)
  }]
]

for (const available of databases.filter(({ name }) => name !== 'sqlite')) {
  const name = available.name as keyof typeof waiting
  for (const [what, write] of writes) {
    const title = `${name}: ${what} leaves a row as it is that another transaction has changed while it waited`
    test(title, { skip: available.skip }, async (t) => {
      const database = await available.open()
      t.teardown(() => database.end())
      const adapter = database.adapter()
      await adapter.createTable(things)
      const storage = adapter<Thing>(things)
      for (const id of ['a', 'b', 'c']) await storage.insert({ id, name: 'first' }, context)
      const entries = await Promise.all(['a', 'b', 'c'].map(async (id) => (await storage.find(id, context))!))

      const changed = gate()
      const { open, opened } = gate()
      const other = storage.transaction!<Entry<Thing> | Refusal>(async (inner) => {
        const result = await inner.replace('b', { id: 'b', name: 'changed' }, entries[1]!.version, context)
        changed.open()
        await opened
        return result
      }, context)
      await changed.opened
      const writing = storage.transaction!(async (inner) => {
        const result = Object(await write(inner, entries))
        // A refusal is rolled back, as the library does.
        if ('refused' in result) throw new Error(result.refused)
      }, context)
      await Promise.race([waitForLock(database, name), writing.catch(() => {})])
      open()
      await other
      await t.rejects(writing, { message: 'stale' })
      const page = await Promise.all(['a', 'b', 'c'].map((id) => storage.find(id, context)))
      t.match(page.map((entry) => entry?.item), [{ name: 'first' }, { name: 'changed' }, { name: 'first' }])
    })
  }
}

import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import type { SqlAdapter, SqlOptions } from './databases.ts'

type Table = Parameters<SqlAdapter['createTable']>[0]

export interface Sent {
  readonly text: string
  readonly values: readonly unknown[]
}

/** A driver that returns the next of the answers for each statement, or throws it. */
export function recordStatements (answers: unknown[] = []) {
  const sent: Sent[] = []
  const answer = (text: string, values: readonly unknown[] = []) => {
    sent.push({ text, values })
    const next = answers.shift()
    if (next instanceof Error) throw next
    return next
  }
  const rows = (text: string, values: readonly unknown[]) => (answer(text, values) ?? []) as unknown[]
  const record = (text: string) => {
    sent.push({ text, values: [] })
  }
  const databases: Record<'sqlite' | 'postgres' | 'mysql', (options?: SqlOptions) => SqlAdapter> = {
    sqlite: (options) =>
      sqlite(
        {
          exec: record,
          prepare: (text) => ({
            raw () {},
            all: (...values) => rows(text, values),
            iterate: (...values) => rows(text, values),
            run (...values) {
              answer(text, values)
              return { changes: 1 }
            }
          })
        },
        options
      ),
    postgres: (options) =>
      postgres(
        {
          on () {},
          connect: async () => ({
            on () {},
            removeListener () {},
            release: (broken) => {
              if (broken === true) record('closed')
            },
            query: async ({ text, values }) => ({ rows: rows(text, values ?? []), rowCount: null })
          })
        },
        options
      ),
    mysql: (options) =>
      mysql(
        {
          getConnection: async () => ({
            execute: async ({ sql, values }) => [answer(sql, values) ?? [], undefined],
            query: async (text) => {
              record(text)
              return [[], undefined]
            },
            release () {},
            destroy: () => record('closed')
          })
        },
        options
      )
  }
  return { sent, ...databases }
}

/** Returns what `createTable` sends to a database without tables, as the text of a migration. */
export async function printTables (name: string, collection: Table, options?: SqlOptions): Promise<string> {
  const { sent, ...databases } = recordStatements()
  await databases[name as keyof typeof databases](options).createTable(collection)
  return sent.map(({ text }) => `${text};\n`).join('')
}

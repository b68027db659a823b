import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { request } from '../app.ts'
import { links } from '../query/goods.ts'
import { databases } from '../storage/databases.ts'
import type { Available, Database } from '../storage/databases.ts'
import { defineRental, generateRows, getKeys, getProperties, tableNames } from './rental.ts'
import { questions } from './rental-questions.ts'
import type { Item, Question } from './rental-questions.ts'

// Every question is asked over HTTP or from code, and the answer is compared with that of a hand-written statement.

const rows = generateRows()
const count = tableNames.reduce((sum, name) => sum + rows[name].length, 0)

/** What differs between the databases in plain SQL. */
function translate (kind: Available['name'], sql: string): string {
  const text = sql.replace(/\{(.+?)\}/g, (_, time: string) => {
    if (kind === 'mysql') return `'${time.replace('T', ' ').replace('Z', '')}'`
    return kind === 'postgres' ? `TIMESTAMPTZ '${time}'` : `'${time}'`
  })
  return kind === 'mysql' ? text.replaceAll('"', '`') : text
}

function toLiteral (kind: Available['name'], value: unknown): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  return translate(kind, /^\d{4}-.*Z$/.test(value) ? `{${value}}` : `'${value}'`)
}

const rowsPerStatement = 2000

/** Creates the tables and loads their rows. */
async function load (
  kind: Available['name'],
  database: Database
): Promise<Readonly<Record<string, Definition>>> {
  const adapter = database.adapter()
  const definitions = defineRental(() => adapter)
  const run = (sql: string): Promise<void> => database.run(translate(kind, sql))
  for (const name of tableNames) {
    await adapter.createTable(definitions[name]!)
    const properties = getProperties(name)
    const columns = [...properties, 'version'].map((column) => `"${column}"`).join()
    for (let start = 0; start < rows[name].length; start += rowsPerStatement) {
      const values = rows[name].slice(start, start + rowsPerStatement).map((row) => {
        const literals = properties.map((property) => toLiteral(kind, (row as Item)[property]))
        return `(${literals.join()}, 'v')`
      })
      await database.run(translate(kind, `INSERT INTO "${name}" (${columns}) VALUES `) + values.join())
    }
    for (const key of getKeys(name)) await run(`CREATE INDEX "${name}_${key}" ON "${name}" ("${key}", "id")`)
  }
  return definitions
}

async function serve (t: Test, definitions: Readonly<Record<string, Definition>>): Promise<FastifyInstance> {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of Object.values(definitions)) await app.register(collection, definition)
  return app
}

/** Asks a question, to the last page. */
async function ask (
  app: FastifyInstance,
  definitions: Readonly<Record<string, Definition>>,
  { url, content, isCall }: Question
): Promise<Item[]> {
  const items: Item[] = []
  if (isCall === true) {
    const name = url.slice(1)
    const calls = app.collection(definitions[name]!) as unknown as {
      list (query: object): AsyncIterable<{ readonly item: Item }>
    }
    for await (const { item } of calls.list(content!)) items.push(item)
    return items
  }
  const method = content === undefined ? 'GET' : 'QUERY'
  for (let at: string | undefined = url.replaceAll(' ', '%20'); at !== undefined;) {
    const answer = await request(app, `${method} ${at}`, { content })
    if (answer.statusCode !== 200) throw new Error(answer.payload)
    items.push(...answer.json<Item[]>())
    at = links(answer).next
  }
  return items
}

function toText (answer: ReadonlyArray<readonly unknown[]>): string[] {
  return answer.map((values) => values.map((value) => value === null ? 'null' : String(value)).join(' | '))
}

async function compareAll (t: Test, { app, definitions, answer }: {
  readonly app: FastifyInstance
  readonly definitions: Readonly<Record<string, Definition>>
  answer (question: Question): Promise<string[]>
}): Promise<void> {
  for (const question of questions) {
    const { title, read = ({ id }) => [[id]] } = question
    const items = await ask(app, definitions, question)
    const expected = await answer(question)
    t.ok(expected.length > 0, `there is an answer: ${title}`)
    t.same(toText(items.flatMap(read)), expected, title)
  }
}

/** Answers with a statement. A row may have more columns than the answer needs, for its order. */
function answerWith (kind: Available['name'], database: Pick<Database, 'rows'>) {
  return async ({ sql, read }: Question): Promise<string[]> => {
    const found = await database.rows(translate(kind, sql)) as object[]
    return toText(found.map((row) => read === undefined ? Object.values(row).slice(0, 1) : Object.values(row)))
  }
}

for (const { name: kind, skip, open } of databases) {
  test(`${kind}: ${questions.length} questions about ${count} rows`, { skip }, async (t) => {
    t.setTimeout(240_000)
    const database = await open()
    t.after(() => database.end())
    const definitions = await load(kind, database)
    if (kind === 'postgres') await database.run('ANALYZE')
    const app = await serve(t, definitions)
    await compareAll(t, { app, definitions, answer: answerWith(kind, database) })
  })
}

test(`memory: ${questions.length} questions about ${count} rows`, async (t) => {
  t.setTimeout(240_000)
  const sqlite = databases.find(({ name }) => name === 'sqlite')!
  const database = await sqlite.open()
  t.after(() => database.end())
  await load('sqlite', database)
  // The items are those of the schema.
  const definitions = defineRental((name) => memory({ items: [...rows[name]] as never[] }))
  const app = await serve(t, definitions)
  await compareAll(t, { app, definitions, answer: answerWith('sqlite', database) })
})

import type {
  Condition,
  Context,
  Entry,
  Id,
  Page,
  Query,
  Refusal,
  Storage,
  Supports,
  Version
} from '../lib/storage/contract.ts'
import type { User } from './user.ts'

type Value = string | number | null
type Row = Omit<User, 'createdAt'> & { createdAt: string | Date; version: string }

/** The parts of a driver that are needed. */
export interface Driver {
  rows(statement: string, values: Value[]): Promise<Row[]>
  /** How many rows were changed. */
  change(statement: string, values: Value[]): Promise<number>
  placeholder(number: number): string
  isNotUnique(error: unknown): boolean
}

const columns = '"id", "email", "name", "password", "createdAt", "version"'
const operators: Partial<Record<Condition['is'], string>> = { eq: '=', lt: '<', gte: '>=' }
const notFound: Refusal = { refused: 'not-found' }
const stale: Refusal = { refused: 'stale' }
const notUnique: Refusal = { refused: 'not-unique', properties: ['email'] }

function toEntry ({ id, email, name, password, createdAt, version }: Row): Entry<User> {
  return {
    id,
    item: { id, email, name, password, createdAt: typeof createdAt === 'string' ? createdAt : createdAt.toISOString() },
    version
  }
}

/** A hand-written storage for this one table: the statements that the library sends, and nothing more. */
export class HandWrittenStorage implements Storage<User> {
  readonly name = 'by hand'
  readonly supports: Supports = {
    generatedIds: false,
    unique: true,
    filter: true,
    order: true,
    search: false,
    count: false,
    transactions: false,
    receipts: false
  }

  #driver: Driver
  #statements: Record<'find' | 'insert' | 'replace' | 'replaceVersion' | 'remove' | 'removeVersion', string>
  #writes = 0
  #prefix = Math.random().toString(36).slice(2)

  constructor (driver: Driver) {
    const [one, two, three, four, five, six, seven] = Array.from({ length: 7 }, (_, index) =>
      driver.placeholder(index + 1)
    )
    const update = `UPDATE "users" SET "email" = ${one}, "name" = ${two}, "password" = ${three}, "createdAt" = ${four}, "version" = ${five} WHERE "id" = ${six}`
    this.#driver = driver
    this.#statements = {
      find: `SELECT ${columns} FROM "users" WHERE "id" = ${one}`,
      insert: `INSERT INTO "users" (${columns}) VALUES (${one}, ${two}, ${three}, ${four}, ${five}, ${six}) RETURNING ${columns}`,
      replace: `${update} RETURNING ${columns}`,
      replaceVersion: `${update} AND "version" = ${seven} RETURNING ${columns}`,
      remove: `DELETE FROM "users" WHERE "id" = ${one}`,
      removeVersion: `DELETE FROM "users" WHERE "id" = ${one} AND "version" = ${two}`
    }
  }

  #version () {
    return this.#prefix + (++this.#writes).toString(36)
  }

  async list ({ filter, order, after, limit }: Query, _context: Context): Promise<Page<User>> {
    const values: Value[] = []
    const bind = (value: Value) => this.#driver.placeholder(values.push(value))
    // As built by bench/storage-query.ts.
    const conditions = (filter === undefined ? [] : 'all' in filter ? filter.all : [filter]) as Condition[]
    const where = conditions.map(({ property, is, value }) => `"${property}" ${operators[is]} ${bind(String(value))}`)
    const [first, last] = order
    if (after !== undefined && first !== undefined) {
      const [value = null, id = null] = after as Value[]
      const past = first.descending ? '<' : '>'
      where.push(
        last === first || last === undefined
          ? `"id" ${past} ${bind(value)}`
          : `("${first.property}" ${past} ${bind(value)} OR ("${first.property}" = ${bind(value)} AND "id" > ${bind(id)}))`
      )
    }
    const by = order.map(({ property, descending }) => `"${property}"${descending ? ' DESC' : ''}`).join(', ')
    const rows = await this.#driver.rows(
      `SELECT ${columns} FROM "users"${where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`} ORDER BY ${by} LIMIT ${bind(limit + 1)}`,
      values
    )
    const more = rows.length > limit
    if (more) rows.pop()
    return { entries: rows.map(toEntry), more }
  }

  async find (id: Id, _context: Context) {
    const [row] = await this.#driver.rows(this.#statements.find, [id])
    return row === undefined ? undefined : toEntry(row)
  }

  async #write (statement: string, values: Value[]): Promise<Entry<User> | Refusal | undefined> {
    try {
      const [row] = await this.#driver.rows(statement, values)
      return row === undefined ? undefined : toEntry(row)
    } catch (error) {
      if (this.#driver.isNotUnique(error)) return notUnique
      throw error
    }
  }

  async insert ({ id, email, name, password, createdAt }: Readonly<User>, _context: Context) {
    return (
      (await this.#write(this.#statements.insert, [id, email, name, password, createdAt, this.#version()])) ?? notFound
    )
  }

  async replace (
    id: Id,
    { email, name, password, createdAt }: Readonly<User>,
    expected: Version | undefined,
    context: Context
  ) {
    const values = [email, name, password, createdAt, this.#version(), id]
    const written =
      expected === undefined
        ? await this.#write(this.#statements.replace, values)
        : await this.#write(this.#statements.replaceVersion, [...values, expected])
    return written ?? this.#refusal(id, context)
  }

  async remove (id: Id, expected: Version | undefined, context: Context) {
    const changed =
      expected === undefined
        ? await this.#driver.change(this.#statements.remove, [id])
        : await this.#driver.change(this.#statements.removeVersion, [id, expected])
    return changed === 0 ? this.#refusal(id, context) : undefined
  }

  async #refusal (id: Id, context: Context): Promise<Refusal> {
    return (await this.find(id, context)) === undefined ? notFound : stale
  }
}

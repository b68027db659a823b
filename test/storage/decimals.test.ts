import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import { build, request } from '../app.ts'
import { databases, type Available } from './databases.ts'

// Decimals as text in columns with numbers, which return another number of digits than was sent.

const twoDigits = '^[0-9]{1,9}\\.[0-9]{2}$'

interface Refused {
  readonly type: string
  readonly pattern?: string
  /** The type that the message advises. */
  readonly advice: string
}

const refused: Readonly<Record<Available['name'], readonly Refused[]>> = {
  sqlite: [
    { type: 'DECIMAL', advice: 'TEXT' },
    { type: 'NUMERIC(10, 2)', advice: 'TEXT' },
    { type: 'DECIMAL', pattern: '^0\\.[0-9]{4}$', advice: 'TEXT' },
    { type: 'REAL', advice: 'TEXT' },
    { type: 'INTEGER', advice: 'TEXT' }
  ],
  postgres: [
    { type: 'numeric(65,30)', advice: 'numeric(65,2)' },
    { type: 'numeric(10,4)', advice: 'numeric(10,2)' },
    { type: 'numeric(10,1)', advice: 'numeric(10,2)' },
    { type: 'numeric(65,30)', pattern: '^0\\.[0-9]{4}$', advice: 'numeric(65,4)' },
    { type: 'numeric(65,30)', pattern: '^[2-9][0-9]*\\.[0-9]{2}$', advice: 'numeric(65,2)' },
    { type: 'numeric(65,30)', pattern: '^[0-9]+\\.[0-9]{18}$', advice: 'numeric(65,18)' },
    { type: 'numeric(10,4)', pattern: '^-?[0-9]+(\\.[0-9]{1,3})?$', advice: 'numeric(10,3)' },
    { type: 'amount', advice: 'numeric(12,2)' },
    { type: 'double precision', advice: 'text COLLATE "C"' },
    { type: 'integer', advice: 'text COLLATE "C"' }
  ],
  mysql: [
    { type: 'DECIMAL(65,30)', advice: 'decimal(65,2)' },
    { type: 'DECIMAL(10,4)', advice: 'decimal(10,2)' },
    { type: 'DECIMAL(10)', advice: 'decimal(10,2)' },
    { type: 'DECIMAL(65,30)', pattern: '^0\\.[0-9]{4}$', advice: 'decimal(65,4)' },
    { type: 'DECIMAL(65,30)', pattern: '^[0-9]+\\.[0-9]{18}$', advice: 'decimal(65,18)' },
    { type: 'DECIMAL(10,4)', pattern: '^-?[0-9]+(\\.[0-9]{1,3})?$', advice: 'decimal(10,3)' },
    { type: 'DOUBLE', advice: 'LONGTEXT' },
    { type: 'INT', advice: 'LONGTEXT' }
  ]
}

const accepted: Readonly<Record<Available['name'], ReadonlyArray<readonly [type: string, pattern: string]>>> = {
  sqlite: [['VARCHAR(20)', twoDigits], ['INTEGER', '^[0-9]+$'], ['DECIMAL', '^[0-9]+(\\.[0-9]+)?$'], ['NUMERIC', '.']],
  postgres: [
    ['varchar(20)', twoDigits],
    ['numeric', twoDigits],
    ['numeric(10,2)', twoDigits],
    ['numeric(10,4)', '^[0-9]+(\\.[0-9]{1,4})?$'],
    ['bigint', '^[0-9]+$'],
    ['numeric(10,4)', '.']
  ],
  mysql: [
    ['VARCHAR(20)', twoDigits],
    ['DECIMAL(10,2)', twoDigits],
    ['DECIMAL(10,4)', '^[0-9]+(\\.[0-9]{1,4})?$'],
    ['BIGINT', '^[0-9]+$'],
    ['DECIMAL(10,4)', '.']
  ]
}

for (const { name, skip, open } of databases) {
  test(`${name}: a column with another scale than the schema is refused at boot`, { skip }, async (t) => {
    const database = await open()
    t.teardown(() => database.end())
    if (name === 'postgres') await database.run('CREATE DOMAIN amount AS numeric(12,6)')
    const createTable = async (type: string) => {
      await database.run('DROP TABLE IF EXISTS products')
      await database.run(`CREATE TABLE products (id INTEGER PRIMARY KEY, title VARCHAR(20) NOT NULL, price ${type})`)
    }
    const products = (pattern: string, actions?: 'list'[]): Definition => define({
      name: 'products',
      schema: Type.Object({
        id: Type.Integer(),
        title: Type.String(),
        price: Type.Optional(Type.Union([Type.String({ pattern }), Type.Null()]))
      }),
      id: { generate: 'client' },
      list: { filter: ['price'] },
      storage: database.adapter({ version: { derived: true } }),
      ...actions && { actions }
    })
    const start = async (definition: Definition) => {
      const app = Fastify()
      t.teardown(() => app.close())
      app.register(collection, definition)
      await app.ready()
    }

    for (const { type, pattern = twoDigits, advice } of refused[name]) {
      await createTable(type)
      await t.rejects(start(products(pattern)), {
        code: 'FST_COLLECTION_BAD_TABLE',
        message: /"price" does not allow that, so a stored item could not be changed\. Change the type of the column to /
      }, type)
      const error: unknown = await start(products(pattern)).catch((error: unknown) => error)
      t.match(String(error), `Change the type of the column to ${advice}`, type)
      await t.resolves(start(products(pattern, ['list'])), `${type}: a collection that only reads`)
      await createTable(advice)
      await t.resolves(start(products(pattern)), `${type}: the type in the message is the fix`)
    }

    for (const [type, pattern] of accepted[name]) {
      await createTable(type)
      await t.resolves(start(products(pattern)), `${type}: ${pattern}`)
    }

    await createTable(refused[name][1]!.advice)
    const app = await build(t, products(twoDigits))
    for (const [index, price] of ['9.50', '7.00'].entries()) {
      t.equal((await request(app, 'POST /products', { content: { id: index, title: 'a', price } })).statusCode, 201)
    }
    t.strictSame((await request(app, 'PATCH /products/1', { content: { title: 'b' } })).json(), {
      id: 1,
      title: 'b',
      price: '7.00'
    })
    t.strictSame((await request(app, 'GET /products?price=7.00')).json(), [{ id: 1, title: 'b', price: '7.00' }])
  })
}

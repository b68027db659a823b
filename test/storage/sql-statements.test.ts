import { test } from 'tap'
import type { Thing } from '../../lib/storage/conformance.ts'
import type { Context, Entry, Filter, Query, Shape } from '../../lib/storage/index.ts'
import type { JsonSchema } from '../../lib/storage/contract.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { Cache } from '../../lib/storage/sql/cache.ts'
import { createCodecs } from '../../lib/storage/sql/codec.ts'
import { getKind } from '../../lib/storage/sql/kind.ts'
import type { SqlAdapter, SqlOptions } from './databases.ts'
import { printTables, recordStatements, type Sent } from './recorder.ts'

// The statements that are sent, recorded by a driver without a server. Their results are tested with real
// servers.

const context: Context = { signal: new AbortController().signal, scope: undefined }

const users: Shape = {
  name: 'users',
  schema: {
    type: 'object',
    required: ['id', 'email', 'createdAt'],
    properties: {
      id: { type: 'string', format: 'uuid' },
      email: { type: 'string', maxLength: 100 },
      nickName: { type: ['string', 'null'] },
      age: { type: 'integer' },
      createdAt: { type: 'string', format: 'date-time' },
      address: { type: 'object', properties: { city: { type: 'string' } } }
    }
  },
  id: { property: 'id', generate: 'uuid' },
  unique: [['email']]
}

const id = '018f0000-0000-7000-8000-000000000001'

const page: Query = {
  filter: {
    all: [
      { property: 'email', is: 'like', value: 'a|b%*' },
      { property: 'address.city', is: 'in', value: ['Rome', 'Oslo', 'Bern'] }
    ]
  },
  search: { words: ['ann'], properties: ['email'] },
  order: [
    { property: 'createdAt', descending: true },
    { property: 'id', descending: true }
  ],
  after: ['2024-01-01T00:00:00Z', id],
  before: undefined,
  limit: 20,
  properties: ['email'],
  count: false
}

const toError = (properties: object, message = 'fault') => Object.assign(new Error(message), properties)

test('createTable creates typed columns, constraints and indexes', async (t) => {
  const options: SqlOptions = { columns: 'snake_case', indexes: [['createdAt'], ['email', 'age']] }
  const binary = 'CHARACTER SET utf8mb4 COLLATE /*M!100202 utf8mb4_nopad_bin *//*!80017 utf8mb4_0900_bin */'
  t.equal(
    await printTables('sqlite', users, options),
    `CREATE TABLE IF NOT EXISTS "users" (
  "id" TEXT NOT NULL PRIMARY KEY,
  "email" TEXT NOT NULL,
  "nick_name" TEXT,
  "age" INTEGER,
  "created_at" TEXT NOT NULL,
  "address" TEXT CHECK (json_valid("address")),
  "version" TEXT NOT NULL,
  "nulls" TEXT,
  CONSTRAINT "users_email_unique" UNIQUE ("email")
) STRICT;
CREATE INDEX IF NOT EXISTS "users_createdAt_index" ON "users" ("created_at", "id");
CREATE INDEX IF NOT EXISTS "users_email_age_index" ON "users" ("email", "age", "id");
`
  )
  t.equal(
    await printTables('postgres', users, options),
    `CREATE TABLE IF NOT EXISTS "users" (
  "id" uuid NOT NULL PRIMARY KEY,
  "email" text COLLATE "C" NOT NULL,
  "nick_name" text COLLATE "C",
  "age" bigint,
  "created_at" timestamptz(3) NOT NULL,
  "address" json,
  "version" text COLLATE "C" NOT NULL,
  "nulls" json,
  CONSTRAINT "users_email_unique" UNIQUE ("email")
);
CREATE INDEX IF NOT EXISTS "users_createdAt_index" ON "users" ("created_at", "id");
CREATE INDEX IF NOT EXISTS "users_email_age_index" ON "users" ("email", "age", "id");
`
  )
  t.equal(
    await printTables('mysql', users, options),
    `CREATE TABLE IF NOT EXISTS \`users\` (
  \`id\` CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  \`email\` VARCHAR(100) ${binary} NOT NULL,
  \`nick_name\` LONGTEXT ${binary},
  \`age\` BIGINT,
  \`created_at\` DATETIME(3) NOT NULL,
  \`address\` LONGTEXT ${binary} CHECK (JSON_VALID(\`address\`)),
  \`version\` VARCHAR(40) ${binary} NOT NULL,
  \`nulls\` LONGTEXT ${binary},
  CONSTRAINT \`users_email_unique\` UNIQUE (\`email\`),
  INDEX \`users_createdAt_index\` (\`created_at\`, \`id\`),
  INDEX \`users_email_age_index\` (\`email\`, \`age\`, \`id\`)
) ENGINE=InnoDB;
`
  )
  const short = {
    name: 'tags',
    schema: {
      type: 'object',
      properties: { id: { type: 'string' }, tag: { type: 'string' }, kind: { type: 'string' } }
    },
    unique: ['tag', ['tag', 'kind']]
  } as const
  t.match(
    await printTables('mysql', short, { table: 'shop.tags' }),
    /CREATE TABLE IF NOT EXISTS `shop`\.`tags` \(\n {2}`id` VARCHAR\(700\).*\n {2}`tag` VARCHAR\(350\).*\n {2}`kind` VARCHAR\(350\)/
  )
  t.match(
    await printTables('mysql', {
      ...short,
      id: { property: 'id', generate: 'storage' },
      schema: { type: 'object', properties: { id: { type: 'integer' }, tag: {}, kind: {} } }
    }),
    /`id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY/
  )
})

test('each method is one statement, and all values of a client are bound', async (t) => {
  const { sent, sqlite, postgres, mysql } = recordStatements()
  const listTexts = async (adapter: SqlAdapter) => {
    sent.length = 0
    const storage = adapter<Thing>(users)
    await storage.find(id, context)
    await storage.list(page, context)
    await storage.remove(id, 'v1', { ...context, scope: { property: 'age', is: 'gt', value: 1.5 } })
    return sent.slice(0, 3)
  }
  const [find, list, remove] = await listTexts(sqlite())
  t.same(find, {
    text: 'SELECT "id", "email", "nickName", "age", "createdAt", "address", "version", "nulls" FROM "users" WHERE "id" = ?',
    values: [id]
  })
  t.equal(
    list?.text,
    'SELECT "id", "email", "version", "nulls" FROM "users" WHERE ("email" GLOB ? AND CASE WHEN NULLIF(json_type("address", \'$."city"\'), \'null\') IN (\'text\') THEN json_extract("address", \'$."city"\') END IN (?, ?, ?, ?)) AND (instr(lower("email"), ?) > 0) AND ("createdAt", "id") < (?, ?) ORDER BY "createdAt" DESC, "id" DESC LIMIT ?'
  )
  t.same(list?.values, ['a|b%*', 'Rome', 'Oslo', 'Bern', 'Bern', 'ann', '2024-01-01T00:00:00.000Z', id, 21])
  t.same(remove, {
    text: 'DELETE FROM "users" WHERE "id" = ? AND "version" = ? AND "age" > ?',
    values: [id, 'v1', 1.5]
  })

  const [, onPostgres, removed] = await listTexts(postgres())
  t.match(
    onPostgres?.text,
    /"email"::text LIKE \$1 ESCAPE '\|' AND CASE .* IN \(\$2, \$3, \$4, \$5\)\) AND .*ORDER BY "createdAt" DESC, "id" DESC LIMIT \$9$/
  )
  t.same(onPostgres?.values, ['a||b|%%', 'Rome', 'Oslo', 'Bern', 'Bern', 'ann', '2024-01-01T00:00:00.000Z', id, 21])
  t.equal(removed?.text, 'DELETE FROM "users" WHERE "id" = $1 AND "version" = $2 AND "age" > $3::numeric')

  const [found, onMysql] = await listTexts(mysql())
  t.equal(
    found?.text,
    'SELECT `id`, `email`, `nickName`, `age`, CAST(`createdAt` AS CHAR) AS `text 4`, CAST(`address` AS CHAR) AS `text 5`, `version`, `nulls` FROM `users` WHERE `id` = ?'
  )
  t.match(
    onMysql?.text,
    /`createdAt` <= \? AND \(`createdAt` < \? OR `createdAt` = \? AND `id` < \?\) ORDER BY `createdAt` DESC, `id` DESC LIMIT \?$/
  )
  t.same(onMysql?.values.slice(-5), [
    '2024-01-01 00:00:00.000',
    '2024-01-01 00:00:00.000',
    '2024-01-01 00:00:00.000',
    id,
    '21'
  ])
})

test('SQLite uses GLOB only for prefix patterns', async (t) => {
  const { sent, sqlite } = recordStatements()
  const storage = sqlite()<Thing>(users)
  for (const [value, operator] of [
    ['a*', 'GLOB'],
    ['a', '='],
    ['*a*', 'instr'],
    ['*a', 'EXISTS'],
    ['a*b*c*', 'EXISTS'],
    ['*a*b*', 'EXISTS']
  ] as const) {
    await storage.list(
      { ...page, filter: { property: 'email', is: 'like', value }, search: undefined, after: undefined },
      context
    )
    const text = sent.at(-1)?.text ?? ''
    t.ok(text.includes(operator), `${value}: ${text}`)
    t.equal(text.includes('GLOB'), operator === 'GLOB', value)
  }
})

test('without RETURNING, a write returns the bound values or reads the row within the transaction', async (t) => {
  const item = {
    id,
    email: 'a@example.org',
    nickName: null,
    createdAt: '2024-01-01T00:00:00.5Z',
    address: { city: 'Rome' }
  }
  const { sent, mysql } = recordStatements([
    { affectedRows: 1, insertId: 0 },
    { affectedRows: 1, insertId: 0 },
    { affectedRows: 0, insertId: 0 },
    []
  ])
  const storage = mysql()<Thing>(users)
  const inserted = await storage.insert(item, context)
  t.match(inserted, { id, item: { ...item, createdAt: '2024-01-01T00:00:00.500Z' }, version: sent[0]?.values[6] })
  t.equal(
    sent[0]?.text,
    'INSERT INTO `users` (`id`, `email`, `nickName`, `age`, `createdAt`, `address`, `version`, `nulls`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
  )
  t.same(sent[0]?.values.toSpliced(6, 1), [
    id,
    'a@example.org',
    null,
    null,
    '2024-01-01 00:00:00.500',
    '{"city":"Rome"}',
    '["nickName"]'
  ])
  t.match(await storage.replace(id, item, 'v1', context), {
    id,
    item: { ...item, createdAt: '2024-01-01T00:00:00.500Z' }
  })
  t.match(sent[1], {
    text: /^UPDATE `users` SET `email` = \?, .*`version` = \?, `nulls` = \? WHERE `id` = \? AND `version` = \?$/
  })
  t.same(await storage.replace(id, item, 'v1', context), { refused: 'not-found' })

  const existing = recordStatements([
    { affectedRows: 1, insertId: 5 },
    [[5, null, '1']],
    { affectedRows: 1, insertId: 0 },
    [[5, null, '2']],
    { affectedRows: 1, insertId: 6 },
    []
  ])
  const counters = existing.mysql({ version: { column: 'count', as: 'integer' } })<Thing>({
    ...users,
    schema: { type: 'object', properties: { id: { type: 'integer' }, note: { type: 'string' } } },
    id: { property: 'id', generate: 'storage' }
  })
  const made = (await counters.insert({}, context)) as Entry<Thing>
  t.match(made, { id: 5, version: /^[\w-]{27}$/ })
  t.not(((await counters.replace(5, {}, undefined, context)) as Entry<Thing>).version, made.version)
  await t.rejects(counters.insert({}, context), { message: 'The database did not return the row written to users' })
  const textual = (column: string) =>
    `CONVERT(CAST(\`${column}\` AS CHAR) USING utf8mb4) COLLATE /*M!100202 utf8mb4_nopad_bin *//*!80017 utf8mb4_0900_bin */`
  t.same(
    existing.sent.map(({ text }) => text.split(' WHERE')[0]),
    [
      'BEGIN',
      'INSERT INTO `users` (`count`) VALUES (1)',
      `SELECT ${textual('id')} AS \`text 0\`, ${textual('note')} AS \`text 1\`, ${textual('count')} AS \`entity tag\` FROM \`users\``,
      'COMMIT',
      'BEGIN',
      'UPDATE `users` SET `count` = `count` + 1, `note` = DEFAULT',
      existing.sent[2]?.text.split(' WHERE')[0],
      'COMMIT',
      'BEGIN',
      'INSERT INTO `users` (`count`) VALUES (1)',
      existing.sent[2]?.text.split(' WHERE')[0],
      'ROLLBACK'
    ]
  )
})

test('a write after a read compares the row that was read, without reading it again', async (t) => {
  const schema = { type: 'object', properties: { id: { type: 'string' }, note: { type: 'string' } } } as const
  for (const [version, column] of [
    [{ column: 'count', as: 'integer' }, ' AND "count"::text IS NOT DISTINCT FROM $6'],
    [{ derived: true }, '']
  ] as const) {
    const row = ['a', 'x', '1']
    const { sent, postgres } = recordStatements([[row], [row], [], [row]])
    const storage = postgres({ version })<Thing>({ ...users, schema })
    const found = await storage.find('a', context)
    await storage.replace('a', { id: 'a', note: 'y' }, found?.version, context)
    t.equal(sent.length, 2)
    t.match(sent[1]?.text, `"id"::text IS NOT DISTINCT FROM $4 AND "note"::text IS NOT DISTINCT FROM $5${column}`)
    sent.length = 0
    t.same(
      await storage.replace('a', { id: 'a' }, 'unknown', context),
      { refused: 'not-found' },
      'a version that was not read by this process is read again'
    )
    t.match(sent[0]?.text, /^SELECT/)
  }
  const long = ['a', 'x'.repeat(20_000)]
  const { sent, postgres } = recordStatements([[long], [long], [long]])
  const storage = postgres({ version: { derived: true } })<Thing>({ ...users, schema })
  const found = await storage.find('a', context)
  await storage.replace('a', { id: 'a', note: 'y' }, found?.version, context)
  t.equal(sent.length, 3, 'a long row is not cached')
})

test('a row of an existing table is compared by its own columns in the statement that writes', async (t) => {
  const schema = {
    type: 'object',
    properties: { id: { type: 'string' }, at: { type: 'string', format: 'date-time' } }
  } as const
  const row = ['a', '2024-01-01 00:00:00']
  const { sent, mysql } = recordStatements([[row], { affectedRows: 1, insertId: 0 }, [], []])
  const storage = mysql({ table: 'log', version: { derived: true } })<Thing>({ ...users, schema })
  const exact = (column: string) =>
    `CONVERT(${column} USING utf8mb4) COLLATE /*M!100202 utf8mb4_nopad_bin *//*!80017 utf8mb4_0900_bin */`
  const found = await storage.find('a', context)
  t.same(found?.item, { id: 'a', at: '2024-01-01T00:00:00.000Z' })
  t.equal(await storage.transaction?.((inner) => inner.remove('a', found?.version, context), context), undefined)
  t.same(
    sent.map(({ text }) => text).filter((text) => !text.startsWith('SELECT')),
    [
      'BEGIN',
      `DELETE FROM \`log\` WHERE \`id\` = ? AND ${exact('`id`')} = ? AND ${exact('CAST(`id` AS CHAR)')} <=> ? AND ${exact('CAST(`at` AS CHAR)')} <=> ?`,
      'COMMIT'
    ]
  )
  t.same(sent.find(({ text }) => text.startsWith('DELETE'))?.values, ['a', 'a', 'a', '2024-01-01 00:00:00'])
  sent.length = 0
  await storage.list(
    {
      ...page,
      filter: { not: { property: 'id', is: 'like', value: 'x' } },
      search: { words: ['2024'], properties: ['at'] },
      order: [
        { property: 'at', descending: false },
        { property: 'id', descending: true }
      ],
      after: undefined
    },
    context
  )
  t.match(
    sent[0]?.text.slice(sent[0].text.indexOf('WHERE')),
    `WHERE NOT (${exact('`id`')} LIKE ? ESCAPE '|') AND (LOCATE(?, LOWER(CONCAT(DATE_FORMAT(\`at\`, '%Y-%m-%dT%H:%i:%s.'), LPAD(MICROSECOND(\`at\`) DIV 1000, 3, '0'), 'Z'))) > 0) ORDER BY \`at\` IS NULL, \`at\`, ${exact('`id`')} DESC LIMIT ?`
  )
})

test('a timestamp version is set by the database, later than the previous one', async (t) => {
  const { sent, mysql } = recordStatements([{ affectedRows: 1, insertId: 0 }, [[id, '2024-01-01 00:00:00.000001']]])
  await mysql({ version: { column: 'changed', as: 'timestamp' } })<Thing>({
    ...users,
    schema: { type: 'object', properties: { id: { type: 'string' } } }
  }).replace(id, {}, undefined, context)
  t.match(
    sent[1]?.text,
    'UPDATE `users` SET `changed` = GREATEST(CURRENT_TIMESTAMP(6), COALESCE(`changed` + INTERVAL 1 MICROSECOND, CURRENT_TIMESTAMP(6))) WHERE'
  )
})

test('a driver error becomes a refusal or an unreachable error, is retried, or is passed on unchanged', async (t) => {
  const item = { id, email: 'a@example.org', createdAt: '2024-01-01T00:00:00Z' }
  const outcome = async (database: 'mysql' | 'postgres', ...answers: unknown[]) => {
    const storage = recordStatements(answers)[database]()<Thing>(users)
    return await storage.insert(item, context).catch((error: unknown) => error)
  }
  const duplicate = (message: string) => toError({ errno: 1062 }, message)
  t.same(await outcome('mysql', duplicate("Duplicate entry 'it''s' for key 'users_email_unique'")), {
    refused: 'not-unique',
    properties: ['email']
  })
  t.same(await outcome('mysql', duplicate("Duplicate entry 'x' for key 'users.users_email_unique'")), {
    refused: 'not-unique',
    properties: ['email']
  })
  for (const errno of [3819, 4025]) {
    t.same(await outcome('mysql', Object.assign(new Error('a constraint fails'), { errno })), { refused: 'conflict' })
  }
  const outside = 'Cannot add or update a child row: a foreign key constraint fails ' +
    '(`app`.`others`, CONSTRAINT `x` FOREIGN KEY (`email`) REFERENCES `mails` (`address`))'
  t.same(await outcome('mysql', toError({ errno: 1452 }, outside)), { refused: 'conflict' })
  const own = outside.replace('others', 'users')
  t.same(await outcome('mysql', toError({ errno: 1452 }, own)), { refused: 'missing-target', properties: ['email'] })
  t.same(await outcome('mysql', toError({ errno: 1216 }, 'fails')), { refused: 'missing-target', properties: [] })
  for (const errno of [1451, 1217]) {
    t.same(await outcome('mysql', toError({ errno }, 'a constraint fails')), { refused: 'referenced' })
  }
  t.same(await outcome('mysql', duplicate("Duplicate entry 'x' for key 'users.PRIMARY'"), [['id']]), {
    refused: 'not-unique',
    properties: ['id']
  })
  t.same(await outcome('mysql', duplicate("Duplicate entry 'x' for key 'lower_email'"), []), {
    refused: 'not-unique',
    properties: ['lower_email']
  })
  t.same(await outcome('postgres', toError({ code: '23505', constraint: 'users_email_unique' })), {
    refused: 'not-unique',
    properties: ['email']
  })
  t.same(await outcome('postgres', toError({ code: '23505', constraint: 'users_pkey' }), [['id']]), {
    refused: 'not-unique',
    properties: ['id']
  })
  t.same(await outcome('postgres', toError({ code: '23505' })), { refused: 'not-unique', properties: [] })
  for (const error of [
    toError({ errno: 1180 }, 'Got error 6 "No such device or address" during COMMIT'),
    toError({ code: 'EMFILE' }),
    toError({ errno: 1205 }),
    toError({ code: 'ECONNRESET', errno: -104 }),
    toError({}, 'Queue limit reached.')
  ]) {
    t.match(await outcome('mysql', error), { unreachable: true, cause: error })
  }
  for (const error of [
    toError({ code: '57P01' }),
    toError({ code: 'EPIPE' }),
    toError({}, 'timeout exceeded when trying to connect')
  ]) {
    t.match(await outcome('postgres', error), { unreachable: true, cause: error })
  }
  for (const error of [toError({ errno: 1064 }), toError({ code: '42601' }), toError({})]) {
    t.equal(await outcome('mysql', error), error)
    t.equal(await outcome('postgres', error), error)
  }
  const missing = { unreachable: true, message: /lacks a table/ }
  t.match(await outcome('mysql', toError({ errno: 1146 })), missing)
  t.match(await outcome('postgres', toError({ code: '42P01' })), missing)
  const mismatch = { unreachable: true, message: /does not match/ }
  t.match(await outcome('mysql', toError({ errno: 1054 })), mismatch)
  t.match(await outcome('mysql', toError({ errno: 1048 }, "Column 'other' cannot be null")), mismatch)
  t.match(await outcome('postgres', toError({ code: '42703' })), mismatch)
  t.match(await outcome('postgres', toError({ code: '23502', column: 'other' })), mismatch)
  const unstorable = (...properties: string[]) => ({ refused: 'unstorable', properties })
  t.same(await outcome('mysql', toError({ errno: 1048 }, "Column 'email' cannot be null")), unstorable('email'))
  t.same(await outcome('postgres', toError({ code: '23502', column: 'email' })), unstorable('email'))
  t.same(
    await outcome('mysql', toError({ errno: 1406 }, "Data too long for column 'email' at row 1")),
    unstorable('email')
  )
  t.same(
    await outcome(
      'mysql',
      toError({ errno: 1292 }, "Incorrect datetime value: 'x' for column `app`.`users`.`createdAt` at row 1")
    ),
    unstorable('createdAt')
  )
  t.same(await outcome('mysql', toError({ errno: 1406 }, 'Data too long')), unstorable())
  // Prepared statements may be outdated, so the first error only leads to another attempt.
  const repeated = (properties: object) => outcome('postgres', toError(properties), toError(properties))
  t.same(await repeated({ code: '22001' }), unstorable())
  t.same(await repeated({ code: '22003', where: 'unnamed portal parameter $2' }), unstorable('email'))
  t.same(await repeated({ code: '22003', where: 'unnamed portal parameter $9' }), unstorable())
  t.same(
    await outcome('postgres', toError({ code: '54000', constraint: 'users_email_unique' })),
    unstorable('email')
  )
  t.match(
    await outcome('mysql', toError({ errno: 1213 }), toError({ errno: 1213 }), { affectedRows: 1, insertId: 0 }),
    { id },
    'a deadlock is retried'
  )
})

test('the error of MySQL Group Replication for a lost race, as an object: it is retried, then 503', async (t) => {
  const item = { id, email: 'a@example.org', createdAt: '2024-01-01T00:00:00Z' }
  const lost = () => toError(
    { code: 'ER_TRANSACTION_ROLLBACK_DURING_COMMIT', errno: 3101, sqlState: 'HY000' },
    'Plugin instructed the server to rollback the current transaction.'
  )
  const won = recordStatements([lost(), lost(), { affectedRows: 1, insertId: 0 }]).mysql()<Thing>(users)
  t.match(await won.insert(item, context), { id })
  const never = recordStatements(Array.from({ length: 6 }, lost)).mysql()<Thing>(users)
  t.match(await never.insert(item, context).catch((error: unknown) => error), { unreachable: true })
})

test('the errors of Citus for a unique value, as objects: the properties are those of the detail', async (t) => {
  const item = { id, email: 'a@example.org', createdAt: '2024-01-01T00:00:00Z' }
  const insert = async (detail: string) => {
    // What a worker reports has neither table nor constraint.
    const message = 'duplicate key value violates unique constraint "users_email_unique_102008"'
    const error = toError({ code: '23505', severity: 'ERROR', detail }, message)
    return await recordStatements([error]).postgres()<Thing>(users).insert(item, context)
  }
  const notUnique = (...properties: string[]) => ({ refused: 'not-unique', properties })
  t.same(await insert('Key (email)=(a@example.org) already exists.'), notUnique('email'))
  t.same(await insert('Key (email, "createdAt")=(a)=(b, c) already exists.'), notUnique('email', 'createdAt'))
  t.same(await insert('Key (email, "odd, ""name""")=(a, b) already exists.'), notUnique('email', 'odd, "name"'))
})

test('a connection that throws a value other than an error, or cannot roll back, is handled', async (t) => {
  const failing = (connection: object) => {
    const closed: unknown[] = []
    const client = {
      release () {},
      destroy: () => closed.push('closed'),
      execute: async () => [],
      query: async () => [],
      ...connection
    }
    // The missing methods of the connection fail here.
    return { closed, storage: mysql({ getConnection: async () => client as never })<Thing>(users) }
  }
  const thrown: unknown = 'no error at all'
  const odd = failing({
    execute: async () => {
      throw thrown
    }
  })
  t.equal(await odd.storage.find(id, context).catch((error: unknown) => error), thrown)
  const stuck = failing({
    execute: async () => [[]],
    query: async (statement: string) => {
      if (statement === 'ROLLBACK') throw new Error('cannot')
    }
  })
  await t.rejects(
    async () =>
      await stuck.storage.transaction?.(async (inner) => {
        await inner.find(id, context)
        throw new Error('on purpose')
      }, context),
    { message: 'on purpose' }
  )
  t.same(stuck.closed, ['closed'])
  // A wrapper does not show the session of its connection, so the statement cannot be canceled.
  const slow = failing({ execute: () => new Promise(() => {}) })
  const leaving = new AbortController()
  const left = slow.storage.find(id, { signal: leaving.signal, scope: undefined }).catch((error: unknown) => error)
  setImmediate(() => leaving.abort())
  t.match(await left, { unreachable: true, message: 'The request was aborted before the storage responded' })
  t.same(slow.closed, [])
  for (let turn = 0; turn < 500 && slow.closed.length === 0; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  t.same(slow.closed, ['closed'])
  const odder = postgres({
    on () {},
    connect: async () => {
      throw thrown
    }
  })<Thing>(users)
  t.equal(await odder.find(id, context).catch((error: unknown) => error), thrown)
})

test('a pool that throws synchronously is handled like one that rejects', async (t) => {
  const thrown = new Error('thrown')
  const fail = () => {
    throw thrown
  }
  const released: unknown[] = []
  const client = {
    on () {},
    removeListener () {},
    release: (broken?: boolean) => {
      released.push(broken)
    },
    query: async () => ({ rows: [], rowCount: 0 })
  }
  const pools = [
    { connect: fail },
    { connect: async () => ({ ...client, query: fail }) },
    { connect: async () => ({ ...client, release: fail }) }
  ]
  for (const pool of pools) {
    t.equal(
      await postgres({ on () {}, ...pool })<Thing>(users)
        .find(id, context)
        .catch((error: unknown) => error),
      thrown
    )
  }
  t.strictSame(released, [false])
})

test('retries stop when the request is aborted', async (t) => {
  const { sent, postgres } = recordStatements(Array.from({ length: 6 }, () => toError({ code: '40001' })))
  const leaving = new AbortController()
  setTimeout(() => leaving.abort(), 60)
  const left = await postgres()<Thing>(users)
    .find(id, { signal: leaving.signal, scope: undefined })
    .catch((error: unknown) => error)
  t.match(left, { unreachable: true, message: 'The request was aborted before the storage responded' })
  const tries = sent.length
  await new Promise((resolve) => setTimeout(resolve, 700))
  t.ok(tries > 1)
  t.equal(sent.length, tries)
})

test('many collections on one pool add one listener to it', async (t) => {
  let listeners = 0
  const pool = {
    on: () => listeners++,
    connect: async () => {
      throw new Error('not called')
    }
  }
  for (let count = 0; count < 20; count++) postgres(pool)<Thing>(users)
  t.equal(listeners, 1)
})

test('invalid options fail at boot with a message that states the fix', async (t) => {
  const { sqlite, mysql } = recordStatements()
  const withProperty = (name: string, schema: JsonSchema = { type: 'string' }): Shape => ({
    ...users,
    schema: { ...users.schema, properties: { ...users.schema.properties, [name]: schema } }
  })
  t.throws(() => sqlite()(withProperty('version')), {
    message:
      /storage of users needs the column version itself\. Give the property version another column with the option "columns"\./
  })
  t.doesNotThrow(() => sqlite({ version: 'row_version' })(withProperty('version')))
  t.throws(() => sqlite()(withProperty('nulls')), { message: /column nulls itself/ })
  t.throws(() => sqlite()({ ...users, id: { property: 'key', generate: 'client' } }), {
    message: /users has no column for key/
  })
  await t.rejects(sqlite().createTable({ ...users, unique: [['address.city']] }), {
    message: /users has no column for address.city/
  })
  await t.rejects(mysql().createTable({ ...users, id: { property: 'id', generate: 'storage' } }), {
    message: /generated by the database, so id must be an integer/
  })
  await t.rejects(mysql({ version: { derived: true } }).createTable(users), {
    message: /The table of users already exists/
  })
  await t.rejects(
    sqlite()<Thing>(users).list({ ...page, filter: { property: 'unknown.name', is: 'null', value: true } }, context),
    { message: /users has no column for unknown/ }
  )
  t.doesNotThrow(() => sqlite()({ ...users, schema: { type: 'object', properties: { id: { type: 'string' } } } }))
  t.throws(() => sqlite()({ ...users, schema: { type: 'object' } }), { message: /users has no column for id/ })
})

test('a nested property outside the schema is read by the type of the compared value', async (t) => {
  const { sent, sqlite, mysql } = recordStatements()
  const filter: Filter = {
    all: [
      { property: 'address.floor', is: 'gt', value: 2 },
      { property: 'address.open', is: 'eq', value: true },
      { property: 'age', is: 'lt', value: 1.5 }
    ]
  }
  for (const adapter of [sqlite(), mysql()]) {
    await adapter<Thing>(users).list({ ...page, filter, search: undefined }, context)
  }
  t.match(
    sent[0]?.text,
    /IN \('integer', 'real'\) THEN CAST\(json_extract\("address", '\$\."floor"'\) AS REAL\) END > \?/
  )
  t.match(
    sent[1]?.text,
    /THEN JSON_UNQUOTE\(JSON_EXTRACT\(`address`, '\$\."floor"'\)\) \+ 0e0 END > \? AND .* THEN JSON_UNQUOTE\(JSON_EXTRACT\(`address`, '\$\."open"'\)\) = 'true' END = \? AND `age` < \?/
  )
})

test('the kind of a column can store every value of its schema', async (t) => {
  const table: ReadonlyArray<readonly [JsonSchema, kind: string, nullable: boolean]> = [
    [{ type: 'string' }, 'text', false],
    [{ type: ['string', 'null'], format: 'date' }, 'date', true],
    [{ anyOf: [{ type: 'string', format: 'uuid' }, { type: 'string' }] }, 'text', false],
    [{ oneOf: [{ type: 'integer' }, { type: 'number' }, { type: 'null' }] }, 'number', true],
    [{ const: 1 }, 'integer', false],
    [{ const: 1.5 }, 'number', false],
    [{ const: true }, 'boolean', false],
    [{ const: null }, 'json', true],
    [{ enum: ['a', null] }, 'text', true],
    [{ enum: ['a', 1] }, 'json', false],
    [{ enum: [{}, []] }, 'json', false],
    [{ type: 'object' }, 'json', false],
    [{ type: ['boolean', 'integer'] }, 'json', false],
    [{}, 'json', true]
  ]
  for (const [schema, kind, nullable] of table) t.same(getKind(schema), { kind, nullable }, JSON.stringify(schema))
})

test('times are parsed in any form of a database, and written in one', async (t) => {
  const { 'date-time': instant, date, text, boolean, uuid, json } = createCodecs((value) => value)
  const forms: ReadonlyArray<readonly [string, string]> = [
    ['2024-01-01T00:00:00.123Z', '2024-01-01T00:00:00.123Z'],
    ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.000Z'],
    ['2024-01-01t00:00:00.5z', '2024-01-01T00:00:00.500Z'],
    ['2024-01-01 00:00:00', '2024-01-01T00:00:00.000Z'],
    ['2024-01-01 02:00:00.123456+02', '2024-01-01T00:00:00.123Z'],
    ['2023-12-31T18:15:00-05:45', '2024-01-01T00:00:00.000Z'],
    ['2023-12-31 18:15:00-0545', '2024-01-01T00:00:00.000Z'],
    ['2024-01-01 00:00', '2024-01-01T00:00:00.000Z'],
    ['2024-01-01', '2024-01-01T00:00:00.000Z'],
    ['2023-12-31T23:59:60.5Z', '2024-01-01T00:00:00.500Z'],
    ['2023-12-31T23:59:60.500Z', '2024-01-01T00:00:00.500Z'],
    ['2023-12-31T23:59:59.500Z', '2023-12-31T23:59:59.500Z']
  ]
  for (const [form, expected] of forms) {
    t.equal(instant.read(form), expected, form)
    t.ok(instant.canBind(form))
  }
  for (const wrong of ['yesterday', '2024-13-01T00:00:00Z', '', 'x\0', 5]) t.notOk(instant.canBind(wrong))
  t.equal(date.read('2024-01-01 00:00:00'), '2024-01-01')
  t.notOk(date.canBind(5))
  t.notOk(uuid.canBind(5))
  t.equal(uuid.write('urn:uuid:018F0000-0000-7000-8000-000000000001'), id)
  t.equal(text.read(0.99), '0.99')
  t.same([1, true, '1', 't', 'true', 0, 'f'].map(boolean.read), [true, true, true, true, true, false, false])
  t.notOk(json.canBind(undefined))
})

test('a full cache evicts the least recently used entry', async (t) => {
  let created = 0
  const cache = new Cache(2, (key: string) => `${key}${++created}`)
  t.same(
    ['a', 'b', 'a', 'c', 'a', 'b'].map((key) => cache.get(key)),
    ['a1', 'b2', 'a1', 'c3', 'a1', 'b4']
  )
})

test('createTable creates a table for receipts if idempotency is used, also beside an existing table', async (t) => {
  const binary = 'CHARACTER SET utf8mb4 COLLATE /*M!100202 utf8mb4_nopad_bin *//*!80017 utf8mb4_0900_bin */'
  const described = { ...users, receipts: true }
  t.equal(
    await printTables('sqlite', described),
    `${await printTables('sqlite', users)}CREATE TABLE IF NOT EXISTS "users_receipts" (
  "id" TEXT NOT NULL PRIMARY KEY,
  "fingerprint" TEXT NOT NULL,
  "token" TEXT NOT NULL,
  "expires" INTEGER NOT NULL,
  "answer" TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS "users_receipts_expires_index" ON "users_receipts" ("expires");
`
  )
  t.equal(
    await printTables('postgres', described, { table: 'shop.users', version: { derived: true } }),
    `CREATE TABLE IF NOT EXISTS "shop"."users_receipts" (
  "id" text COLLATE "C" NOT NULL PRIMARY KEY,
  "fingerprint" text COLLATE "C" NOT NULL,
  "token" text COLLATE "C" NOT NULL,
  "expires" bigint NOT NULL,
  "answer" text COLLATE "C"
);
CREATE INDEX IF NOT EXISTS "users_receipts_expires_index" ON "shop"."users_receipts" ("expires");
`
  )
  t.equal(
    await printTables('mysql', described, { version: { derived: true }, receipts: 'shop.receipts' }),
    `CREATE TABLE IF NOT EXISTS \`shop\`.\`receipts\` (
  \`id\` VARCHAR(43) ${binary} NOT NULL PRIMARY KEY,
  \`fingerprint\` VARCHAR(43) ${binary} NOT NULL,
  \`token\` VARCHAR(40) ${binary} NOT NULL,
  \`expires\` BIGINT NOT NULL,
  \`answer\` LONGTEXT ${binary},
  INDEX \`receipts_expires_index\` (\`expires\`)
) ENGINE=InnoDB;
`
  )
})

test('a claim that conflicts with another claim is retried', async (t) => {
  const duplicate = toError({ errno: 1062 }, "Duplicate entry 'a' for key 'PRIMARY'")
  const claim = { key: 'a', fingerprint: 'f', token: 'mine', expires: 200, answer: undefined }
  const expired = ['a', 'g', 'other', 50, null]
  const verbs = (sent: readonly Sent[]) => sent.map(({ text }) => text.slice(0, 6)).join()
  for (const [way, answers, statements] of [
    ['released in between', [duplicate, [], { affectedRows: 1 }], 'INSERT,SELECT,INSERT'],
    ['expired', [duplicate, [expired], { affectedRows: 1 }], 'INSERT,SELECT,UPDATE'],
    [
      'expired, and succeeded by another',
      [duplicate, [expired], { affectedRows: 0 }, duplicate, [], { affectedRows: 1 }],
      'INSERT,SELECT,UPDATE,INSERT,SELECT,INSERT'
    ]
  ] as const) {
    const { sent, mysql } = recordStatements([...answers])
    t.equal(await mysql()(users).receipts?.claim(claim, 100, context), undefined, way)
    t.equal(verbs(sent), statements, way)
  }
  const { mysql } = recordStatements([toError({ errno: 1146 })])
  await t.rejects(async () => mysql()(users).receipts?.claim(claim, 100, context), { message: /lacks a table/ })
  const { sent, postgres } = recordStatements()
  t.equal(await postgres()(users).receipts?.keep(claim, context), false)
  t.same(
    sent.map(({ values }) => values),
    [[200, null, 'a', 'mine']]
  )
})

import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { softDelete } from '../../lib/features/soft-delete.ts'
import collection, { define, ProblemError } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition, Transaction } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { databases } from '../storage/databases.ts'
import type { Available } from '../storage/databases.ts'

// On a server, other transactions commit between the statements of one that removes an item.

const deletedAt = Type.Optional(Type.String({ format: 'date-time' }))
const User = Type.Object({ id: Type.String(), deletedAt })
const Article = Type.Object({ id: Type.String(), authorId: Type.String() })

async function serve (t: Test, { open }: Available, isSoft: boolean) {
  const database = await open()
  const id = { generate: 'client' } as const
  const users = define({ name: 'users', schema: User, id, storage: database.adapter() })
  const related = relate({
    users: isSoft ? users.with(softDelete({ property: 'deletedAt' })) : users,
    articles: define({ name: 'articles', schema: Article, id, storage: database.adapter() })
  }, {
    articles: { author: { to: 'users', property: 'authorId', references: true } }
  })
  const app = Fastify()
  t.after(async () => {
    await app.close()
    await database.end()
  })
  await app.register(registry)
  for (const definition of Object.values(related)) {
    await database.adapter().createTable(definition)
    await app.register(collection, definition)
  }
  await app.ready()
  return { app, ...related }
}

for (const database of databases.filter(({ name }) => name !== 'sqlite')) {
  for (const isSoft of [false, true]) {
    const what = isSoft ? 'marked as deleted' : 'removed'
    test(`${database.name}: an item is not ${what} if a reference was committed meanwhile`, { skip: database.skip }, async (t) => {
      const { app, users, articles } = await serve(t, database, isSoft)
      await app.collection(users).create({ id: 'ada' })
      let start = (): void => {}
      const started = new Promise<void>((resolve) => { start = resolve })
      const referring = started.then(() => app.collection(articles).create({ id: '1', authorId: 'ada' }))
      const removal = app.collection(users).transaction(async (transaction) => {
        await transaction.collection(articles).list().next()
        start()
        await referring
        await transaction.collection(users).remove('ada')
      })
      await t.rejects(removal, ProblemError)
      t.equal((await app.inject('/users/ada')).statusCode, 200)
    })

    test(`${database.name}: an item is not ${what} while references are added`, { skip: database.skip }, async (t) => {
      const { app } = await serve(t, database, isSoft)
      for (let round = 0; round < 20; round++) {
        const id = `user-${round}`
        await app.inject({ method: 'POST', url: '/users', payload: { id } })
        const [removed, created] = await Promise.all([
          app.inject({ method: 'DELETE', url: `/users/${id}` }),
          app.inject({ method: 'POST', url: '/articles', payload: { id: String(round), authorId: id } })
        ])
        const statuses = `${removed.statusCode} ${created.statusCode}`
        t.ok(['204 422', '409 201'].includes(statuses), statuses)
      }
    })
  }
}

const Team = Type.Object({ id: Type.String(), size: Type.Integer({ default: 0 }) })
const Player = Type.Object({ id: Type.String(), teamId: Type.String() })

/** What this test uses of pg and mysql2. */
interface Client {
  query (text: string): Promise<unknown>
}

/** Serves players that refer to teams. `afterWrite` is called within the transaction that has created a player. */
async function serveTeams (
  t: Test,
  { open }: Available,
  afterWrite: (transaction: Transaction, teams: () => Definition<Static<typeof Team>>) => unknown
) {
  const database = await open(40)
  const id = { generate: 'client' } as const
  const teams = define({ name: 'teams', schema: Team, id, storage: database.adapter() })
  const players = define({
    name: 'players',
    schema: Player,
    id,
    storage: database.adapter(),
    hooks: { afterWrite: async ({ transaction }) => { await afterWrite(transaction, () => related.teams) } }
  })
  const related = relate({ teams, players }, {
    players: { team: { to: 'teams', property: 'teamId', references: true } }
  })
  const app = Fastify()
  t.after(async () => {
    await app.close()
    await database.end()
  })
  await app.register(registry)
  for (const definition of Object.values(related)) {
    await database.adapter().createTable(definition)
    await app.register(collection, definition)
  }
  await app.ready()
  await app.inject({ method: 'POST', url: '/teams', payload: { id: 'a' } })
  const create = (count: number) => Promise.all(Array.from({ length: count }, async (_, index) => {
    const payload = { id: String(index), teamId: 'a' }
    return (await app.inject({ method: 'POST', url: '/players', payload })).statusCode
  }))
  return { app, create }
}

for (const database of databases) {
  const { name, skip } = database

  if (name !== 'sqlite') {
    test(`${name}: transactions that refer to one item do not wait for each other`, { skip }, async (t) => {
      let count = 0
      let meet = (): void => {}
      const met = new Promise<string>((resolve) => { meet = () => resolve('met') })
      const ends: string[] = []
      const { create } = await serveTeams(t, database, async () => {
        if (++count === 5) meet()
        ends.push(await Promise.race([met, delay(5000, 'alone', { ref: false })]))
      })
      t.strictSame(await create(5), Array.from({ length: 5 }, () => 201))
      t.strictSame(ends, Array.from({ length: 5 }, () => 'met'))
    })

    test(`${name}: items whose hooks change the one that they refer to, with SQL, are all created`, { skip }, async (t) => {
      const { app, create } = await serveTeams(t, database, ({ client }) => {
        return (client as Client).query("UPDATE teams SET size = size + 1 WHERE id = 'a'")
      })
      t.strictSame(await create(40), Array.from({ length: 40 }, () => 201))
      t.match((await app.inject('/teams/a')).json(), { size: 40 })
    })
  }

  test(`${name}: items whose hooks change the one that they refer to are all created`, { skip }, async (t) => {
    const { app, create } = await serveTeams(t, database, async (transaction, teams) => {
      const { item: { size } } = await transaction.collection(teams()).read('a')
      await transaction.collection(teams()).update('a', { size: size + 1 })
    })
    t.strictSame(await create(40), Array.from({ length: 40 }, () => 201))
    t.match((await app.inject('/teams/a')).json(), { size: 40 })
  })
}

import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { accounts } from '../account.ts'
import type { Account } from '../account.ts'
import { hash } from '../password.ts'

type Accounts = Awaited<ReturnType<typeof accounts>>

declare module 'fastify' {
  interface FastifyInstance {
    accounts: Accounts
    /** For routes that are not collections, such as the login. */
    findAccount(email: string): Promise<Account | undefined>
  }
}

export default fp(
  async (app: FastifyInstance) => {
    const database = new DatabaseSync(app.config.DATABASE_FILE)
    app.addHook('onClose', async () => {
      database.close()
    })
    const { storage } = app.decorate('accounts', await accounts(database)).accounts
    const context = { signal: new AbortController().signal, scope: undefined }

    app.decorate('findAccount', async (email: string) => {
      const filter = { property: 'email', is: 'eq', value: email.toLowerCase() } as const
      const { entries } = await storage.list(
        {
          filter,
          order: [{ property: 'id', descending: false }],
          limit: 1,
          search: undefined,
          after: undefined,
          before: undefined,
          properties: undefined,
          count: false
        },
        context
      )
      return entries[0]?.item
    })

    const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = app.config
    if (email !== '' && password !== '' && (await app.findAccount(email)) === undefined) {
      const now = new Date().toISOString()
      await storage.insert(
        {
          id: randomUUID(),
          email: email.toLowerCase(),
          name: 'Admin',
          role: 'admin',
          password: await hash(password),
          createdAt: now,
          updatedAt: now
        },
        context
      )
    }
  },
  { name: 'accounts' }
)

import type { FastifyInstance } from 'fastify'
import { registry } from 'fastify-collections/registry'
import fp from 'fastify-plugin'
import type { Account } from '../account.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** For routes that are not collections, such as the login. */
    findAccount(email: string): Promise<Account | undefined>
  }
}

export default fp(
  async (app: FastifyInstance) => {
    const { users } = app.definitions
    // Adds app.collection().
    await app.register(registry)

    app.decorate('findAccount', async (email: string) => {
      const filter = { email: email.toLowerCase() }
      const first = await app.collection(users).list({ filter, limit: 1 }).next()
      return first.done === true ? undefined : first.value.item
    })

    // When all collections are registered. The rules of the definition apply: the password is hashed.
    app.addHook('onReady', async () => {
      const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = app.config
      if (email === '' || password === '' || (await app.findAccount(email)) !== undefined) return
      await app.collection(users).create({ email, name: 'Admin', role: 'admin', password })
    })
  },
  { name: 'accounts', dependencies: ['database'] }
)

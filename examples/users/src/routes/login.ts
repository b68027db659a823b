import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { hash, matches } from '../password.ts'

const Credentials = Type.Object({
  email: Type.String({ format: 'email', maxLength: 200 }),
  password: Type.String({ maxLength: 200 })
})

export default async function login (app: FastifyInstance): Promise<void> {
  // Compared if the account does not exist, so that the response time does not reveal that.
  const placeholder = await hash('placeholder')

  app.post<{ Body: Static<typeof Credentials> }>(
    '/login',
    { schema: { body: Credentials } },
    async ({ body }, reply) => {
      const account = await app.findAccount(body.email)
      const isCorrect = await matches(body.password, account?.password ?? placeholder)
      reply.header('cache-control', 'no-store')
      if (account === undefined || !isCorrect) {
        reply.code(401).header('www-authenticate', 'Bearer realm="users"')
        return { message: 'The email address or the password is wrong.' }
      }
      return { token: app.jwt.sign({ sub: account.id, role: account.role }) }
    }
  )
}

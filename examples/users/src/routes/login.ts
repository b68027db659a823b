import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { hash, matches } from '../password.ts'

const Credentials = Type.Object({ email: Type.String({ maxLength: 200 }), password: Type.String({ maxLength: 200 }) })

export default async function login (app: FastifyInstance): Promise<void> {
  // Compared where there is no such account, so that the time it takes tells nothing.
  const nobody = await hash('nobody')

  app.post<{ Body: Static<typeof Credentials> }>('/login', { schema: { body: Credentials } }, async ({ body }, reply) => {
    const account = await app.accountOf(body.email)
    const right = await matches(body.password, account?.password ?? nobody)
    reply.header('cache-control', 'no-store')
    if (account === undefined || !right) return reply.code(401).header('www-authenticate', 'Bearer realm="users"').send({ message: 'The e-mail address or the password is wrong.' })
    return { token: app.jwt.sign({ sub: account.id, role: account.role }) }
  })
}

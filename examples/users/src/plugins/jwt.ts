import jwt from '@fastify/jwt'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Account } from '../account.ts'

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: { sub: string; role: Account['role'] }
    user: { sub: string; role: Account['role'] }
  }
}

export default fp(
  async (app: FastifyInstance) => {
    await app.register(jwt, { secret: app.config.JWT_SECRET, sign: { expiresIn: '15m' } })
  },
  { name: 'jwt' }
)

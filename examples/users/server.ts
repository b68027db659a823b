import Fastify from 'fastify'
import collection from '../../lib/index.ts'
import { users } from './users.ts'

const host = process.env['HOST'] ?? '127.0.0.1'
const port = process.env['PORT'] ?? '3000'

const app = Fastify({ forceCloseConnections: true })
await app.register(collection, users)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => { app.close().then(() => process.exit(0), fail) })
}

try {
  const address = await app.listen({ host, port: Number(port) })
  console.log(`Listening at ${address}

Try:
  curl -i ${address}/users
  curl -i ${address}/users/01900000-0000-7000-8000-000000000001
  curl -i ${address}/users --json '{ "email": "alan@example.com", "name": "Alan", "password": "enigma-1942" }'

Stop with Ctrl+C.`)
} catch (error) {
  fail(error)
}

function fail (error: unknown): never {
  console.error(sentence(error))
  process.exit(1)
}

function sentence (error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `Port ${port} at ${host} is in use already. Choose another: PORT=3001 npm start`
  if (code === 'ERR_SOCKET_BAD_PORT') return `PORT is "${port}". Make it a number from 0 to 65535.`
  return `The service cannot listen at ${host}, port ${port}: ${message}`
}

import { styleText } from 'node:util'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { build } from './app.ts'
import { ada } from './collections/users.ts'
import { database } from './database.ts'
import { settings } from './settings.ts'
import type { Settings } from './settings.ts'
import { Unusable, reason } from './unusable.ts'

try {
  await start(settings(process.env))
} catch (error) {
  if (!(error instanceof Unusable)) throw error
  console.error(styleText('red', error.message, { stream: process.stderr }))
  process.exit(1)
}

async function start (chosen: Settings): Promise<void> {
  const opened = database(chosen)
  const app = await build(opened, chosen.seed).catch((error: unknown) => {
    throw new Unusable(
      `The ${opened.name} cannot be used: ${reason(error)}. Check that it runs, and that DATABASE_URL or SQLITE_FILE is right.`
    )
  })
  // Waits for pending requests, then closes the database.
  closeWithGrace({ delay: 10_000, logger: false }, () => app.close())
  const address = await listen(app, chosen)
  console.log(`Listening at ${styleText('green', address, { stream: process.stdout })}, with the ${opened.name}

Try:
  curl -i ${address}/users
  curl -i ${address}/users/${ada}/articles
  curl -i ${address}/users --json '{ "email": "alan@example.com", "name": "Alan", "password": "enigma-1942" }'

In a browser: ${address}/users, and the reference at ${address}/reference
Stop with Ctrl+C.`)
}

async function listen (app: FastifyInstance, { host, port }: Settings): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (error) {
    await app.close()
    const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    throw new Unusable(
      isInUse
        ? `Port ${port} at ${host} is in use already. Choose another: PORT=3001 npm start`
        : `The service cannot listen at ${host}, port ${port}: ${reason(error)}`
    )
  }
}

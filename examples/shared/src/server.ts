import closeWithGrace from 'close-with-grace'
import { build } from './app.ts'
import { config } from './config.ts'

try {
  const settings = config()
  const app = await build(settings, { logger: true })
  // Waits for pending requests, then closes the database.
  closeWithGrace({ delay: 10_000, logger: app.log }, async ({ err }) => {
    if (err !== undefined) app.log.error(err)
    await app.close()
  })
  await app.listen({ host: settings.HOST, port: settings.PORT })
} catch (error) {
  console.error(`The service cannot start: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}

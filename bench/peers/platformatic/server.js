// Platformatic DB: the routes come from the table.
import { create } from '@platformatic/db'

const connections = {
  sqlite: ({ file }) => ({ connectionString: `sqlite://${file}` }),
  postgres: ({ url }) => ({ connectionString: url, poolSize: 10 })
}

export async function start (given) {
  const application = await create(import.meta.dirname, {
    server: { hostname: '127.0.0.1', port: 0, logger: { level: 'silent' } },
    db: { ...connections[given.store](given), graphql: false, openapi: true, events: false },
    watch: false
  })
  await application.init()
  await application.start({ listen: true })
  return { server: application.getApplication().server }
}

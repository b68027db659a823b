// json-server 0.17 as a module, the database an object in memory.
import { createServer } from 'node:http'
import jsonServer from 'json-server'

export async function start ({ items }) {
  const app = jsonServer.create()
  app.use(jsonServer.defaults({ logger: false }))
  const router = jsonServer.router({ users: [...items] })
  app.use(router)
  const server = createServer(app)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, reset: () => router.db.setState({ users: [...items] }) }
}

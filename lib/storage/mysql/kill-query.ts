import type { Callback } from '../sql/pool-driver.ts'
import type { MysqlConnection } from '../mysql.ts'

/** What is used of the connection of mysql2 that the one with promises wraps, and of its class. */
interface DriverConnection {
  readonly constructor: new (pool: undefined, options: { readonly config: object }) => OwnConnection
  readonly config: object
}

interface OwnConnection {
  query (text: string, callback: Callback<unknown>): void
  on (event: 'error', listener: () => void): unknown
  destroy (): void
}

/** The session of a connection. */
interface MysqlSession {
  /** What is known of the server and the client. */
  readonly server: string
  readonly id: number
}

/**
 * Each server reads only its own comment. A server of MySQL has a unique id. Those of MariaDB in different containers
 * can have the same names, so the address of the client is compared as well.
 */
const buildSessionQuery = (id: number | 'CONNECTION_ID()') => `SELECT
  CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@server_id
    /*!50700 , @@server_uuid */
    /*M!100000 , (SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = ${id}) */) AS server,
  CONNECTION_ID() AS id`

const sessions = new WeakMap<object, Promise<MysqlSession | undefined>>()

/** Requests the session of a new connection. The driver runs the first statement after it. */
export function identifySession (client: MysqlConnection): void {
  const { connection } = client
  if (!isDriverConnection(connection) || sessions.has(connection)) return
  const query = client.query(buildSessionQuery('CONNECTION_ID()'))
  sessions.set(connection, query.then(([rows]) => toSession(rows), () => undefined))
}

function toSession (rows: unknown): MysqlSession {
  // One row, as an object or, if the pool says so, as an array.
  const [server, id] = Object.values((rows as [object])[0])
  return { server: String(server), id: Number(id) }
}

/** In milliseconds. */
const timeLimit = 2000

/**
 * Kills the statement that a connection runs, over another one that is not part of the pool. Behind a balancer that one
 * may lead to another server, where another client has the same connection id. So the session is compared first.
 */
export async function killQuery ({ connection }: MysqlConnection): Promise<true> {
  if (!isDriverConnection(connection)) throw new Error('The connection is not one of mysql2')
  const session = await sessions.get(connection)
  if (session === undefined) throw new Error('The session is not known')
  const own = new connection.constructor(undefined, { config: connection.config })
  const timer = setTimeout(() => own.destroy(), timeLimit)
  try {
    const { server } = toSession(await runQuery(own, buildSessionQuery(session.id)))
    if (server !== session.server) throw new Error('The connection leads to another server')
    await runQuery(own, `KILL QUERY ${session.id}`)
    return true
  } finally {
    clearTimeout(timer)
    own.destroy()
  }
}

function runQuery (own: OwnConnection, text: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    own.on('error', reject)
    own.query(text, (error, rows) => rows === undefined ? reject(error) : resolve(rows))
  })
}

/** A wrapper around mysql2 may not have it. */
function isDriverConnection (connection: object | undefined): connection is DriverConnection {
  return connection !== undefined && 'config' in connection && typeof connection.config === 'object' &&
    'threadId' in connection
}

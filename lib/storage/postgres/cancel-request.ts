import type { Callback } from '../sql/pool-driver.ts'
import type { PostgresClient, PostgresPool } from './driver.ts'

/** What is used of pg's client, and of the class of its connections. */
interface Session {
  readonly connection: { readonly constructor: new (options: object) => Connection, readonly stream: Stream }
  readonly processID: number
  readonly secretKey: number
  readonly host: string
  readonly port: number
  readonly ssl: unknown
  readonly sslNegotiation?: string
}

interface Stream {
  readonly remoteAddress?: string | undefined
  destroy (): void
}

interface Connection {
  readonly stream: Stream
  on (event: 'connect' | 'sslconnect' | 'end', listener: () => void): unknown
  on (event: 'error', listener: (error: unknown) => void): unknown
  connect (port: number | string, host?: string): void
  requestSsl (): void
  cancel (processID: number, secretKey: number): void
}

/** In milliseconds. */
const timeLimit = 2000

/**
 * Sends a CancelRequest, which needs neither a connection of the pool nor one of the limited connections of the server:
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 * Only the server, or pooler, that gave the secret key of the session to the client acts on it. So a balancer that
 * forwards it to another server does no harm. The server closes the connection after it has processed the request.
 */
export function sendCancelRequest (pool: PostgresPool, client: PostgresClient, callback: Callback<unknown>): void {
  if (!hasSession(client)) return callback(new Error('The session of this client is not known'))
  const { processID, secretKey, ssl, sslNegotiation, host, port } = client
  // A pool can open its sockets itself, such as those of a connector for a cloud.
  const { stream } = { stream: undefined, ...pool.options }
  const connection = new client.connection.constructor({ ssl, sslNegotiation, stream })
  const timer = setTimeout(() => connection.stream.destroy(), timeLimit)
  const sendRequest = () => connection.cancel(processID, secretKey)
  connection.on('connect', () => {
    if (ssl === false) sendRequest()
    else if (sslNegotiation !== 'direct') connection.requestSsl()
  })
  connection.on('sslconnect', sendRequest)
  connection.on('error', () => connection.stream.destroy())
  connection.on('end', () => {
    clearTimeout(timer)
    callback(undefined, true)
  })
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
  // A name may lead to several servers. A certificate is for the name.
  else connection.connect(port, ssl === false ? client.connection.stream.remoteAddress ?? host : host)
}

/** Whether it is a client of pg itself. libpq and wrappers do not show what a request needs. */
function hasSession (client: PostgresClient): client is PostgresClient & Session {
  const { connection, processID, secretKey, host, port } = client as Partial<Session>
  return typeof connection === 'object' && typeof connection.constructor === 'function' &&
    typeof processID === 'number' && typeof secretKey === 'number' &&
    typeof host === 'string' && typeof port === 'number'
}

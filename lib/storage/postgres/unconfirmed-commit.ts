import { OutcomeUnknown } from '../unreachable.ts'
import type { Callback } from '../sql/pool-driver.ts'
import type { PostgresClient } from './driver.ts'

/** What is used of the connection of pg's client. */
interface Connection {
  on (event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown
}

const watched = new WeakSet<object>()

/** The connections that have reported an unconfirmed commit. */
const unconfirmed = new WeakSet<object>()

/**
 * A commit that is cancelled while it waits for a synchronous standby is done on this server only, and PostgreSQL
 * reports it as done, with a warning. It is lost if the standby replaces the server:
 * https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA
 */
export function watchCommits ({ connection }: PostgresClient): void {
  if (!isConnection(connection) || watched.has(connection)) return
  watched.add(connection)
  connection.on('notice', ({ routine }) => {
    // The message depends on the language of the server.
    if (routine === 'SyncRepWaitForLSN') unconfirmed.add(connection)
  })
}

/** The same callback, which fails instead if the commit of the statement is not confirmed. */
export function failUnconfirmed<Value> ({ connection }: PostgresClient, callback: Callback<Value>): Callback<Value> {
  if (!isConnection(connection)) return callback
  return (error, value) => {
    if (!unconfirmed.delete(connection)) return callback(error, value)
    callback(new OutcomeUnknown('The write was not confirmed by a synchronous standby', error))
  }
}

/** libpq and wrappers do not have it. */
function isConnection (connection: unknown): connection is Connection {
  return typeof connection === 'object' && connection !== null && 'on' in connection
}

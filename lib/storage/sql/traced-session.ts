import { tracingChannel } from 'node:diagnostics_channel'
import type { StatementEvent } from '../contract.ts'
import type { Row } from './dialect.ts'
import type { Session, SignalContext, Statement, Work, WriteResult } from './session.ts'

/** Check `hasSubscribers` before anything is created: without subscribers, a statement has no additional cost. */
export const statementChannel = tracingChannel<unknown, StatementEvent>('fastify-collections:statement')

/** Runs a statement, and publishes its start and its end. */
export async function traceStatement<Result> (
  collection: string | undefined,
  text: string,
  run: () => Promise<Result>
): Promise<Result> {
  const [operation = ''] = text.split(' ', 1)
  let result: Result
  // What the function returns would be part of the event.
  await statementChannel.tracePromise(async () => { result = await run() }, { collection, operation, text })
  return result!
}

/** Publishes the statements of a collection. */
export class TracedSession implements Session {
  readonly #session: Session
  readonly #collection: string

  constructor (session: Session, collection: string) {
    this.#session = session
    this.#collection = collection
  }

  get isRepeated (): boolean {
    return this.#session.isRepeated === true
  }

  rows (statement: Statement): Promise<readonly Row[]> {
    if (!statementChannel.hasSubscribers) return this.#session.rows(statement)
    return traceStatement(this.#collection, statement.text, () => this.#session.rows(statement))
  }

  write (statement: Statement): Promise<WriteResult> {
    if (!statementChannel.hasSubscribers) return this.#session.write(statement)
    return traceStatement(this.#collection, statement.text, () => this.#session.write(statement))
  }

  execute (text: string): Promise<void> {
    return this.#session.execute(text)
  }

  withSavepoint<Result> (context: SignalContext, write: () => Promise<Result>): Promise<Result> {
    return this.#session.withSavepoint(context, write)
  }

  transaction<Result> (work: Work<Result>, context: SignalContext): Promise<Result> {
    return this.#session.transaction((inner) => work(new TracedSession(inner, this.#collection)), context)
  }
}

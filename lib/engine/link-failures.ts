import type { FastifyBaseLogger } from 'fastify'
import type { Id } from '../storage/contract.ts'

/** Logs functions of the app that fail to decide about links, each of them once: a list would log it for each item. */
export class LinkFailures {
  readonly #collection: string
  readonly #log: Pick<FastifyBaseLogger, 'error'>
  readonly #reported = new Set<string>()

  constructor (collection: string, log: Pick<FastifyBaseLogger, 'error'>) {
    this.#collection = collection
    this.#log = log
  }

  report (source: string, id: Id, err: unknown): void {
    if (this.#reported.has(source)) return
    this.#reported.add(source)
    const message = `the function ${source} of the collection ${this.#collection} failed. ` +
      'Its links are left out; this is logged once'
    this.#log.error({ collection: this.#collection, id, err }, message)
  }
}

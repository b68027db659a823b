import type { ServerResponse } from 'node:http'
import type { Context, Filter } from '../../storage/contract.ts'

/** The context of an HTTP request. The signal needs a listener, so it is created when a storage reads it. */
export class RequestContext implements Context {
  readonly scope: Filter | undefined
  readonly #response: ServerResponse
  #controller: AbortController | undefined
  #ended = false

  /** Takes the response because it closes when the client disconnects. A request closes once its content is read. */
  constructor (response: ServerResponse, scope: Filter | undefined) {
    this.#response = response
    this.scope = scope
  }

  get signal (): AbortSignal {
    return this.#control().signal
  }

  abort (reason: Error): void {
    this.#control().abort(reason)
  }

  /** After this, a closed connection does not abort: each abort creates an error that keeps its request in memory. */
  end (): void {
    this.#ended = true
  }

  #control (): AbortController {
    if (this.#controller === undefined) {
      const controller = new AbortController()
      this.#controller = controller
      if (this.#response.destroyed) controller.abort()
      // It also closes if Fastify has responded, such as after its handlerTimeout.
      else this.#response.once('close', () => { if (!this.#ended) controller.abort() })
    }
    return this.#controller
  }
}

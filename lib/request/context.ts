import type { ServerResponse } from 'node:http'
import type { Context, Filter } from '../storage/contract.ts'

/** What a storage is told of the request it works for. The signal costs a listener, so that it is made only for a storage that looks at it. */
export class RequestContext implements Context {
  readonly scope: Filter | undefined
  readonly #response: ServerResponse
  #controller: AbortController | undefined
  #ended = false

  /** The response tells when the client has gone; a request is closed as soon as its content is read. */
  constructor (response: ServerResponse, scope: Filter | undefined) {
    this.#response = response
    this.scope = scope
  }

  get signal (): AbortSignal {
    return this.#control().signal
  }

  /** Nobody waits for the request any longer. */
  abort (reason: Error): void {
    this.#control().abort(reason)
  }

  /** The storage has done its part. What becomes of the answer is no reason to abort: the error of each would hold on to its request, and slow the collector down. */
  end (): void {
    this.#ended = true
  }

  #control (): AbortController {
    if (this.#controller === undefined) {
      const controller = this.#controller = new AbortController()
      if (this.#response.destroyed) controller.abort()
      // Also where another has answered, such as Fastify after its handlerTimeout.
      else this.#response.once('close', () => { if (!this.#ended) controller.abort() })
    }
    return this.#controller
  }
}

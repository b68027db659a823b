import type { ServerResponse } from 'node:http'
import type { Context, Filter } from './storage/contract.ts'

/** What a storage is told of the request it works for. The signal costs a listener, so that it is made only for a storage that looks at it. */
export class RequestContext implements Context {
  readonly scope: Filter | undefined
  readonly #response: ServerResponse
  #controller: AbortController | undefined

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

  #control (): AbortController {
    if (this.#controller === undefined) {
      const controller = this.#controller = new AbortController()
      const response = this.#response
      if (response.destroyed) controller.abort()
      // An answer that was sent is no reason: the error of each would hold on to its request, and slow the collector down.
      else response.once('close', () => { if (!response.writableFinished) controller.abort() })
    }
    return this.#controller
  }
}

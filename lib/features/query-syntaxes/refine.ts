// The query syntax of @refinedev/simple-rest.

import type { Feature } from '../feature.ts'
import { createAdminFeature } from './admin-feature.ts'
import { buildMessage } from './problem-text.ts'
import { translateJsonServerQuery, jsonServerParameters } from './json-server-query.ts'

/**
 * Understands the requests of refine with @refinedev/simple-rest, and sends the responses that it expects.
 *
 * @example
 * define({ name: 'posts', schema: Post, storage: memory() }).with(refine())
 */
export function refine (): Feature<object> {
  return createAdminFeature({
    name: 'refine',
    syntax: { parameters: jsonServerParameters, translate: translateJsonServerQuery, embedding: undefined },
    problemProperties: (problem) => ({ message: buildMessage(problem) }),
    // It updates items with PATCH, and does not use removed items.
    readsRemoved: false,
    sendsParts: false
  }, arguments)
}

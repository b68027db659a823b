// @refinedev/simple-rest

import type { Feature } from '../feature.ts'
import { adminClient } from './dialect.ts'
import { underscoreParameters, underscores } from './underscores.ts'
import { message } from './wording.ts'

/**
 * Understands the requests of refine with @refinedev/simple-rest, and sends what it reads.
 *
 * @example
 * define({ name: 'posts', schema: Post, storage: memory() }).with(refine())
 */
export function refine (): Feature<object> {
  return adminClient({
    name: 'refine',
    dialect: { parameters: underscoreParameters, translate: underscores, embedding: undefined },
    problemProperties: (problem) => ({ message: message(problem) }),
    // It changes items by PATCH, and needs nothing of one that is removed.
    readsRemoved: false,
    sendsParts: false
  })
}

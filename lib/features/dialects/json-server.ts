// ra-data-json-server

import type { Feature } from '../feature.ts'
import { adminClient } from './dialect.ts'
import { getProblemProperties } from './react-admin.ts'
import { underscoreParameters, underscores } from './underscores.ts'

/**
 * Understands the requests of react-admin with ra-data-json-server, and sends what it reads.
 *
 * @example
 * define({ name: 'posts', schema: Post, storage: memory() }).with(jsonServer())
 */
export function jsonServer (): Feature<object> {
  return adminClient({
    name: 'json-server',
    dialect: {
      parameters: underscoreParameters,
      translate: underscores,
      // Separated by commas for an item, and by repeating the parameter for a list.
      embedding: { parameter: '_embed', names: (value) => String(value).split(',') }
    },
    problemProperties: getProblemProperties,
    readsRemoved: true,
    sendsParts: true
  })
}

// The query syntax of ra-data-json-server.

import type { Feature } from '../feature.ts'
import { createAdminFeature } from './admin-feature.ts'
import { buildProblemProperties } from './problem-text.ts'
import { translateJsonServerQuery, jsonServerParameters } from './json-server-query.ts'

/**
 * Understands the requests of react-admin with ra-data-json-server, and sends the responses that it expects.
 *
 * @example
 * define({ name: 'posts', schema: Post, storage: memory() }).with(jsonServer())
 */
export function jsonServer (): Feature<object> {
  return createAdminFeature({
    name: 'json-server',
    syntax: {
      parameters: jsonServerParameters,
      translate: translateJsonServerQuery,
      // For an item, names are separated by commas. For a list, the parameter is repeated.
      embedding: { parameter: '_embed', names: (value) => String(value).split(',') }
    },
    problemProperties: buildProblemProperties,
    readsRemoved: true,
    sendsParts: true
  }, arguments)
}

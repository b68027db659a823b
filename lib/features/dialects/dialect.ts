import type { Problem } from '../../http/problems.ts'
import { headersOf } from '../../openapi/fields.ts'
import type { AnsweredField } from '../../openapi/fields.ts'
import type { Dialect, Feature, ListedPage } from '../feature.ts'
import { complete } from './partial.ts'

/** What an admin client needs beside our own requests and responses. */
export interface AdminClient {
  readonly name: string
  readonly dialect: Dialect
  /** Headers of its lists. */
  readonly listHeaders?: (listed: ListedPage) => Record<string, string>
  /** Those headers, for OpenAPI. */
  readonly describedHeaders?: readonly AnsweredField[]
  /** Properties of its problems, beside those of RFC 9457. */
  readonly problemProperties: (problem: Problem) => Record<string, unknown>
  /** Whether it reads the item that a DELETE has removed. */
  readonly readsRemoved: boolean
  /** Whether its PUT may send a part of the item. */
  readonly sendsParts: boolean
}

export function adminClient ({ name, dialect, listHeaders, describedHeaders = [], problemProperties, readsRemoved, sendsParts }: AdminClient): Feature<object> {
  return {
    name,
    setup (host) {
      const { id, filter, formats } = host.collection
      if (id.property !== 'id') host.fail(`${name} needs items whose id is the property "id", but id.property is "${id.property}". Leave one of them out.`)
      if (filter !== undefined && !filter.includes('id')) host.fail(`${name} reads several items by their ids, but filter does not contain "id". Add it.`)
      if (formats[0]?.mediaType !== 'application/json') host.fail(`${name} speaks JSON, but it is not the first of formats. Put it first.`)
      for (const support of ['order', 'filter', 'count'] as const) host.require(support, `${name} sorts, filters and counts`)
      host.addDialect(dialect)
      host.addHook('onProblem', problemProperties)
      if (listHeaders !== undefined) host.addHook('onPage', listHeaders)
      if (sendsParts) host.addHook('onContent', complete)
      if (readsRemoved) host.returnRemovedItem()
      host.describe((operation, action, { components }) => {
        const listed = action.name === 'list' ? operation.responses[200] : undefined
        if (listed !== undefined) listed.headers = { ...listed.headers, ...headersOf(components, describedHeaders) }
      })
    }
  }
}

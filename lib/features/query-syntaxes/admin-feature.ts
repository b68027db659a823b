import type { ReadContent } from '../../engine/operation.ts'
import { formatValue } from '../../format-value.ts'
import { toPointer } from '../../http/json-pointer.ts'
import { isObject } from '../../http/json-value.ts'
import { Problem } from '../../http/problems.ts'
import { describeHeaders } from '../../openapi/headers.ts'
import type { ResponseHeader } from '../../openapi/headers.ts'
import type { QuerySyntax } from '../../listing/query-parameter.ts'
import type { Feature, ListedPage } from '../feature.ts'

/** How an admin client differs from other clients. */
interface AdminClient {
  readonly name: string
  readonly syntax: QuerySyntax
  /** Returns additional headers of lists. */
  readonly listHeaders?: (listed: ListedPage) => Record<string, string>
  /** The names of those headers, for OpenAPI. */
  readonly describedHeaders?: readonly ResponseHeader[]
  /** Returns additional properties of problems. */
  readonly problemProperties: (problem: Problem) => Record<string, unknown>
  /** Whether it reads the removed item from the response to DELETE. */
  readonly readsRemoved: boolean
  /** Whether its PUT may contain only some properties of the item. */
  readonly sendsParts: boolean
}

/**
 * Creates the feature that supports an admin client. `given` are the arguments of its function, which has none: callers
 * without TypeScript can pass some.
 */
export function createAdminFeature (client: AdminClient, given: ArrayLike<unknown>): Feature<object> {
  const { name, syntax, listHeaders, describedHeaders = [], problemProperties, readsRemoved, sendsParts } = client
  return {
    name,
    setup (host) {
      const { id, filter, http: { formats } } = host.collection
      if (given[0] !== undefined) {
        host.fail(`${name} has no options, but got ${formatValue(given[0])}. Remove it.`)
      }
      if (id.property !== 'id') {
        host.fail(`${name} requires that the id is "id", but id.property is "${id.property}". Remove one of them.`)
      }
      if (filter !== undefined && !filter.includes('id')) {
        host.fail(`${name} requests several items by their ids, but filter does not contain "id". Add it.`)
      }
      if (formats[0]?.mediaType !== 'application/json') {
        host.fail(`${name} requires JSON, but JSON is not the first of formats. Put it first.`)
      }
      for (const support of ['order', 'filter', 'count'] as const) {
        host.require(support, `${name} sorts, filters and counts`)
      }
      host.addQuerySyntax(syntax)
      host.addHook('onProblem', problemProperties)
      if (listHeaders !== undefined) host.addHook('onPage', listHeaders)
      if (sendsParts) {
        host.wrap('content', (next, { name }) => name === 'replace' ? withStoredProperties(next) : next)
      }
      if (readsRemoved) host.returnRemovedItem()
      host.describe((operation, action, { components }) => {
        const response = action.name === 'list' && action.aggregate === undefined ? operation.responses[200] : undefined
        if (response === undefined) return
        response.headers = { ...response.headers, ...describeHeaders(components, describedHeaders) }
      })
    }
  }
}

/**
 * Completes the content of a PUT with the properties of the stored item. A null that the schema does not allow removes
 * the property: it is what an empty input sends.
 */
function withStoredProperties (next: ReadContent): ReadContent {
  return (operation, before) => {
    const content = next(operation, before)
    // Another admin client may have done it.
    if (content instanceof Problem || content.isComplete === true) return content
    if (before === undefined || !isObject(content.value)) return content
    const { value: sent } = content
    const { type } = operation.view
    const item: Record<string, unknown> = { ...before.item, ...sent }
    const nulls = Object.keys(sent).filter((name) => sent[name] === null && type.properties.named.has(name))
    const failures = nulls.length === 0 ? [] : type.findFailures(item) ?? []
    for (const name of nulls) {
      if (failures.some((failure) => failure.pointer === toPointer([name]))) delete item[name]
    }
    return { ...content, value: item, isComplete: true }
  }
}

import type { AddedBulk } from '../engine/action-info.ts'
import type { Content } from '../engine/operation.ts'
import { createRemoveMany, createUpdateMany, createWriteMany } from '../engine/write-many.ts'
import { formatValue } from '../errors/format-value.ts'
import { Problem, problem } from '../http/problems.ts'
import type { Feature } from '../engine/feature.ts'
import type { DescribedContents, OperationObject } from '../engine/operation-object.ts'

export type { AddedBulk } from '../engine/action-info.ts'

/** The options of `bulk()`. */
export interface BulkOptions {
  /**
   * Whether PATCH of the collection changes all items that match a filter: `PATCH /orders?status=open`.
   *
   * @default false
   * @example
   * bulk({ update: true })
   */
  update?: boolean
  /**
   * Whether DELETE of the collection removes all items that match a filter: `DELETE /orders?status=draft`.
   *
   * @default false
   * @example
   * bulk({ remove: true })
   */
  remove?: boolean
  /**
   * How many items one request can create, change or remove. If more match, nothing is written.
   *
   * @default 100
   * @example
   * bulk({ maximum: 500 })
   */
  maximum?: number
}

type MethodsOf<Given> =
  | 'createMany'
  | (Given extends { readonly update: true } ? 'updateMany' : never)
  | (Given extends { readonly remove: true } ? 'removeMany' : never)

/**
 * POST accepts an array of items as well, and creates all of them or none. With `update` and `remove`, PATCH and DELETE
 * of the collection write to all items that match a filter, in one transaction.
 *
 * @example
 * define({ name: 'products', schema: Product, storage: sqlite(database) })
 *   .with(bulk({ update: true, remove: true, maximum: 1000 }))
 */
export function bulk<const Given extends BulkOptions = Record<never, never>> (
  given?: Given
): Feature<object, AddedBulk<MethodsOf<Given>>> {
  const options: BulkOptions = given ?? {}
  return {
    name: 'bulk',
    keepsEntries: true,
    setup (host) {
      host.checkOptions('bulk', options, ['update', 'remove', 'maximum'])
      const { maximum = 100, update = false, remove = false } = options
      host.require('transactions', 'bulk creates all items of a request or none')
      if (!Number.isSafeInteger(maximum) || maximum < 1) {
        host.fail(`bulk: maximum is ${formatValue(maximum)}. Make it a whole number of 1 or more.`)
      }
      for (const [name, value] of Object.entries({ update, remove })) {
        if (typeof value !== 'boolean') host.fail(`bulk: ${name} is ${formatValue(value)}. Make it true or false.`)
      }
      if (update || remove) host.require('filter', 'bulk writes to the items that match a filter')
      host.addBulkAction({ name: 'create', maximum, run: undefined, createWriteMany })
      if (update) host.addBulkAction({ name: 'update', maximum, run: createUpdateMany(maximum) })
      if (remove) host.addBulkAction({ name: 'remove', maximum, run: createRemoveMany(maximum) })
      host.wrap('content', (next, { name }) => {
        return name === 'create' ? (...parameters) => acceptArray(next(...parameters), maximum) : next
      }, { doors: ['http'] })
      host.wrap('content', (next, { bulk }) => {
        return bulk?.name === 'create' ? (...parameters) => acceptArray(next(...parameters), maximum) : next
      }, { doors: ['code'] })
      host.describe((operation, { name }, { contents }) => {
        if (name === 'create') describeArrays(operation, contents, maximum)
      })
    }
  }
}

function acceptArray (content: Content | Problem, maximum: number): Content | Problem {
  if (content instanceof Problem || !Array.isArray(content.value)) return content
  const { length } = content.value
  if (length >= 1 && length <= maximum) return { ...content, isMany: true }
  return problem('validation-failed', {
    detail: `The array must have from 1 to ${maximum} items.`,
    properties: { errors: [{ pointer: '', message: `must have from 1 to ${maximum} items` }] }
  })
}

/** Both the request and the response contain an item or an array of items. */
function describeArrays (operation: OperationObject, contents: DescribedContents, maximum: number): void {
  operation.requestBody = { ...operation.requestBody, content: contents.representations(maximum) }
  const lists = contents.list()
  operation.responses[201]!.content = Object.fromEntries(Object.entries(contents.item()).map(([type, item]) => {
    // Not `oneOf`: in formats such as HTML, an item and a list have the same schema.
    return [type, { ...item, schema: { anyOf: [item.schema, lists[type]!.schema] } }]
  }))
}

import type { FastifySchema } from 'fastify'
import type { ActionInfo, StandardKey } from '../engine/action-info.ts'

// What generators read from the route itself. description.ts adds the rest if the app has @fastify/swagger.

/** Over HTTP, a POST creates one item or several. */
export type OperationName = Exclude<StandardKey, 'createMany'>

const summaries: Readonly<Record<OperationName, (plural: string, singular: string) => string>> = {
  list: (plural) => `List ${plural}`,
  query: (plural) => `Query ${plural}`,
  aggregate: (plural) => `Aggregate ${plural}`,
  create: (_plural, singular) => `Create ${singular}`,
  read: (_plural, singular) => `Get ${singular} by id`,
  replace: (_plural, singular) => `Replace ${singular}`,
  update: (_plural, singular) => `Update ${singular}`,
  remove: (_plural, singular) => `Delete ${singular}`,
  updateMany: (plural) => `Update ${plural} that match`,
  removeMany: (plural) => `Delete ${plural} that match`
}

/** `users` -> `user`, `order-lines` -> `order line`, `people` -> `item of people`. */
function toSingular (plural: string): string {
  const word = plural.split(/[-_.~]/).at(-1)!
  const singular = removePluralEnding(word)
  if (singular === word) return `item of ${plural}`
  return plural.slice(0, plural.length - word.length).replace(/[-_.~]/g, ' ') + singular
}

function removePluralEnding (word: string): string {
  if (/(?:news|series|species)$/.test(word)) return word
  return word.replace(/(?<=\w\w)ies$|(?<=s|x|z|ch|sh)es$|(?<![sui])s$/, (ending) => ending === 'ies' ? 'y' : '')
}

/** Returns the name of an operation that is not that of a custom action. */
export function getOperationName ({ key }: ActionInfo): OperationName {
  return key as OperationName
}

export function getOperationId (collection: string, operation: ActionInfo, prefix: string): string {
  return [...prefix.match(/\w+/g) ?? [], collection, operation.key].join('.')
}

/**
 * Describes the route of an operation, by the name of its collection. The prefix keeps operation ids unique if
 * collections have the same name.
 */
export function describeRoute (
  collection: string,
  operation: ActionInfo,
  prefix: string
): FastifySchema & Record<string, unknown> {
  return {
    tags: [collection],
    operationId: getOperationId(collection, operation, prefix),
    summary: buildSummary(collection, operation)
  }
}

/** `Cancel order`, `Import orders`; of a custom action with several words, only these. */
function buildSummary (plural: string, operation: ActionInfo): string {
  const { at, custom } = operation
  const singular = toSingular(plural)
  if (custom === undefined) return summaries[getOperationName(operation)](plural, singular)
  if (custom.title.includes(' ')) return custom.title
  return `${custom.title} ${at === 'item' ? singular : plural}`
}

/** For routes that are not documented: HEAD, OPTIONS, 405. */
export const hiddenSchema: FastifySchema & Record<string, unknown> = { hide: true }

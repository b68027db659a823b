import type { FastifySchema } from 'fastify'
import type { ActionName } from '../action.ts'
import type { Collection } from '../collection.ts'

// What generators read from a route itself. The rest is added by description.ts, which is loaded only if the app has @fastify/swagger.

const summaries: Readonly<Record<ActionName, (plural: string, one: string) => string>> = {
  list: (plural) => `List ${plural}`,
  create: (_plural, one) => `Create ${one}`,
  read: (_plural, one) => `Get ${one} by id`,
  replace: (_plural, one) => `Replace ${one}`,
  update: (_plural, one) => `Update ${one}`,
  remove: (_plural, one) => `Delete ${one}`
}

/** `users` -> `a user`, `articles` -> `an article`, `people` -> `an item of people`. */
export function getOne (plural: string): string {
  const word = plural.split(/[-_.~]/).at(-1)!
  const singular = /(?:news|series|species)$/.test(word) ? word : word.replace(/(?<=\w\w)ies$|(?<=s|x|z|ch|sh)es$|(?<![sui])s$/, (end) => end === 'ies' ? 'y' : '')
  if (singular === word) return `an item of ${plural}`
  const name = plural.slice(0, plural.length - word.length).replace(/[-_.~]/g, ' ') + singular
  return `${/^[aeiou]/i.test(name) && !/^(?:u[bcfhjkqrstn][aeiou]|eu|one)/i.test(name) ? 'an' : /^ho(?:ur|nor)/i.test(name) ? 'an' : 'a'} ${name}`
}

export function getOperationId (collection: Collection, action: ActionName, prefix: string): string {
  return [...prefix.match(/\w+/g) ?? [], collection.name, action].join('.')
}

/** The prefix tells collections of one name apart. */
export function describe (collection: Collection, action: ActionName, prefix: string): FastifySchema & Record<string, unknown> {
  const { name } = collection
  return { tags: [name], operationId: getOperationId(collection, action, prefix), summary: summaries[action](name, getOne(name)) }
}

/** For routes that are not documented: HEAD, OPTIONS, 405. */
export const hidden: FastifySchema & Record<string, unknown> = { hide: true }

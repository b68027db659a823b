/**
 * The types of an app. Declare the type of its callers once, and all rules and hooks know it.
 *
 * @example
 * declare module 'fastify-collections' {
 *   interface CollectionTypes { caller: { id: string, role: 'admin' | 'member' } }
 * }
 */
export interface CollectionTypes {}

/** What `access.authenticate` returns: a string, unless the app declares another type in `CollectionTypes`. */
export type Caller = CollectionTypes extends { caller: infer Type extends CallerLike } ? Type : string

/** What `transaction.client` is, if the app declares its type as `client` in `CollectionTypes`. */
export type DatabaseClient = CollectionTypes extends { client: infer Type } ? Type : unknown

/** A caller is identified by itself, or by its `id`. */
export type CallerLike = string | { readonly id: string | number }

/**
 * Returns what identifies a caller. A number and a string are different ids.
 *
 * @example
 * getCallerId({ id: 7, role: 'admin' }) // 7
 */
export function getCallerId (caller: CallerLike): string | number {
  return typeof caller === 'object' ? caller.id : caller
}

import { hash } from 'node:crypto'
import type { Answer } from './answer.ts'
import type { Collection } from '../collection.ts'
import type { Question } from '../listing/question.ts'
import type { Request } from '../request/request.ts'
import { without } from '../schema/marks.ts'
import type { Entry } from '../storage/contract.ts'

/** What the caller sees of items. */
export type Sight = Pick<Collection, 'properties' | 'hidden'>

/** What a feature adds to the items of a response. */
export interface ViewAddition {
  /** The properties that it adds to an item. */
  add (entry: Entry<object>): Readonly<Record<string, unknown>>
  /** Tells this representation of an entry from others of the same version. */
  version (entry: Entry<object>): string
  /** Whether it depends on the caller. */
  readonly personal: boolean
}

/** How a client wants to see items, other than as they are. */
export interface View {
  /** Only these properties. */
  readonly fields: readonly string[] | undefined
  readonly additions: readonly ViewAddition[]
}

interface Wanted {
  readonly question: Question
  readonly request: Request
}

/** How the client wants to see these entries; undefined if it wants them as they are. */
export async function viewOf (collection: Collection, entries: ReadonlyArray<Entry<object>>, { question, request }: Wanted): Promise<View | undefined> {
  const { fields, features } = question
  if (fields === undefined && features === undefined) return undefined
  const additions: ViewAddition[] = []
  for (const hook of features === undefined ? [] : collection.attached.hooks.onView) {
    const addition = await hook(entries, { question, request })
    if (addition !== undefined) additions.push(addition)
  }
  return fields === undefined && additions.length === 0 ? undefined : { fields, additions }
}

/** An answer of what is seen so. */
export function answered (view: View | undefined, answer: Answer): Answer {
  return view?.additions.some(({ personal }) => personal) === true ? { ...answer, personal: true } : answer
}

/** What may leave of an item. */
export function visible ({ properties }: Sight, entry: Entry<object>): object {
  // Of an object, `without` makes an object.
  return without(entry.item, properties, 'writeOnly') as object
}

const digests = new WeakMap<Sight['properties'], WeakMap<Entry<object>, string>>()

/** The version of what the caller sees: where a property is hidden, it does not tell when that changed. */
export function versionOf (sight: Sight, entry: Entry<object>): string {
  if (sight.hidden === undefined) return entry.version
  let known = digests.get(sight.properties)
  if (known === undefined) digests.set(sight.properties, known = new WeakMap())
  let digest = known.get(entry)
  if (digest === undefined) known.set(entry, digest = hash('sha1', JSON.stringify(visible(sight, entry)), 'base64url'))
  return digest
}

export function seen (collection: Collection, entry: Entry<object>, { fields, additions }: View): object {
  const item = visible(collection, entry)
  const picked = fields === undefined ? item : Object.fromEntries(Object.entries(item).filter(([name]) => fields.includes(name)))
  return additions.length === 0 ? picked : Object.assign({}, picked, ...additions.map(({ add }) => add(entry)))
}

/** Another view is another representation, with a version of its own. */
export function versionSeen (collection: Collection, entry: Entry<object>, { fields, additions }: View): string {
  return `${versionOf(collection, entry)}${fields === undefined ? '' : `~${fields.join()}`}${additions.map(({ version }) => version(entry)).join('')}`
}

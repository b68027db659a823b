import type { Related } from '../options.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Components } from './components.ts'

/** `api/v1 users` -> `ApiV1Users`: a name that every generator can make a type of. */
export function pascal (text: string): string {
  return (text.match(/[A-Za-z0-9]+/g) ?? []).map(word => word[0]!.toUpperCase() + word.slice(1)).join('')
}

/** What the schemas of a collection are called in a document. */
export interface Names {
  readonly read: string
  readonly create: string
  readonly replace: string
  readonly patch: string
  readonly list: string
}

/** By the title or `$id` of the schema, or else by the name of the collection; where another is called so already, with the prefix in front. */
export function namesOf (components: Components, { name, schemas }: Pick<Related, 'name' | 'schemas'>, prefix: string): Names {
  const own = titleOf(schemas.read)
  const stem = components.stem(schemas, [own ?? pascal(name), pascal(prefix) + (own ?? pascal(name))])
  return { read: own === undefined ? `${stem}Item` : stem, create: `${stem}Create`, replace: `${stem}Replace`, patch: `${stem}Patch`, list: `${stem}List` }
}

function titleOf ({ title, $id }: JsonSchema): string | undefined {
  return [title, $id].filter(name => typeof name === 'string').map(pascal).find(name => name !== '')
}

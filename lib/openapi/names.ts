import type { ItemType } from '../schema/item-type.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Components } from './components.ts'

/** `api/v1 users` -> `ApiV1Users`: a name that every code generator can use for a type. */
export function toPascalCase (text: string): string {
  const words = text.match(/[A-Za-z0-9]+/g) ?? []
  return words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
}

/** The component names of the schemas of a collection. */
export interface SchemaNames {
  /** What all of them begin with. */
  readonly stem: string
  readonly read: string
  readonly create: string
  readonly replace: string
  readonly patch: string
  readonly list: string
  readonly query: string
  readonly filter: string
  readonly expand: string
}

/**
 * Names the schemas after the title or `$id` of the schema, or else after the collection.
 * If another collection has the same name, the prefix comes first.
 */
export function getSchemaNames (
  components: Components,
  { name, type: { messages } }: { readonly name: string, readonly type: Pick<ItemType, 'messages'> },
  prefix: string
): SchemaNames {
  const title = getTitle(messages.read)
  const preferred = title ?? toPascalCase(name)
  const stem = components.getStem(messages, [preferred, toPascalCase(prefix) + preferred])
  return {
    stem,
    read: title === undefined ? `${stem}Item` : stem,
    create: `${stem}Create`,
    replace: `${stem}Replace`,
    patch: `${stem}Patch`,
    list: `${stem}List`,
    query: `${stem}Query`,
    filter: `${stem}Filter`,
    expand: `${stem}Expand`
  }
}

function getTitle ({ title, $id }: JsonSchema): string | undefined {
  return [title, $id].filter((name) => typeof name === 'string').map(toPascalCase).find((name) => name !== '')
}

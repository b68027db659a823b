import { hash } from 'node:crypto'
import type { Format } from '../formats/format.ts'
import { isSchema } from '../schema/subschemas.ts'
import type { JsonSchema } from '../storage/contract.ts'

// The bytes of a representation depend on the item and on the definition. A deploy can change the definition while the item and
// its version stay: without this part of the entity tag, a cache would keep what the new definition does not show any more.

/** Increase it when the library writes other bytes for the same item and definition. test/definition-tags.test.ts notices that. */
const revision = 1

const length = 6

export function shortDigest (value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url').slice(0, length)
}

/** Of how items look in any format. `concealed` are the properties that not every caller sees. */
export function digestSchema (schema: JsonSchema, concealed: readonly string[]): string {
  return shortDigest([revision, withoutValues(schema), concealed])
}

/** These say nothing of how an item looks, and an app may compute them at boot, so that its processes would have different tags. */
const values = new Set(['default', 'examples', '$comment'])
/** The names in these are no keywords. */
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

function withoutValues (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutValues)
  if (!isSchema(schema)) return schema
  const entries = Object.entries(schema).filter(([keyword]) => !values.has(keyword))
  return Object.fromEntries(entries.map(([keyword, value]) => [keyword, maps.has(keyword) && isSchema(value) ? mapValues(value) : withoutValues(value)]))
}

function mapValues (schemas: JsonSchema): unknown {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutValues(schema)]))
}

interface Rendered {
  readonly formats: readonly Format[]
  /** Of the schema. */
  readonly digest: string
  readonly links?: (context: never) => object
  readonly neighbors: { readonly children: ReadonlySet<string>, readonly hasParent: boolean }
}

/** What entity tags end with. */
export class TagSuffixes {
  readonly #rendered: Rendered
  #byName: ReadonlyMap<string, string> | undefined

  constructor (rendered: Rendered) {
    this.#rendered = rendered
  }

  get ({ name }: Format): string {
    // When a request first needs it, the app serves all that a representation can link to.
    this.#byName ??= suffixesOf(this.#rendered)
    return this.#byName.get(name)!
  }
}

/** By the name of the format. The text of a function stands for what it does. */
function suffixesOf ({ formats, digest, links, neighbors }: Rendered): ReadonlyMap<string, string> {
  return new Map(formats.map(({ name, mediaType, item, list, join }) => {
    const written = [digest, mediaType, String(item), String(list), String(join)]
    // A format whose items can be joined carries no links.
    const linked = join === undefined ? [String(links), [...neighbors.children].sort(), neighbors.hasParent] : []
    return [name, `${shortDigest([written, linked])}.${name}`]
  }))
}

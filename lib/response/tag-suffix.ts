import { hash } from 'node:crypto'
import type { Format } from '../formats/format.ts'
import { isSchema } from '../schema/subschemas.ts'
import type { JsonSchema } from '../storage/contract.ts'

// The bytes of a representation depend on the item and on the definition. A deploy can change the definition while
// the item and its version stay. Without a suffix for the definition, caches would keep serving the old bytes.

/** Increase it if the same item and definition are rendered differently: see test/response/tag-suffix.test.ts. */
const revision = 1

const digestLength = 6

export function shortDigest (value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url').slice(0, digestLength)
}

/** Returns a digest of the schema of items. `concealed` are the properties that some callers do not see. */
export function digestSchema (schema: JsonSchema, concealed: readonly string[]): string {
  return shortDigest([revision, withoutValues(schema), concealed])
}

/** Keywords that do not change how an item is rendered. Their values may differ between the processes of an app. */
const valueKeywords = new Set(['default', 'examples', '$comment'])
/** Keywords whose keys are names, not keywords. */
const mapKeywords = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

function withoutValues (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutValues)
  if (!isSchema(schema)) return schema
  const entries = Object.entries(schema).filter(([keyword]) => !valueKeywords.has(keyword))
  return Object.fromEntries(entries.map(([keyword, value]) => {
    const isMap = mapKeywords.has(keyword) && isSchema(value)
    return [keyword, isMap ? mapWithoutValues(value) : withoutValues(value)]
  }))
}

function mapWithoutValues (schemas: JsonSchema): unknown {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutValues(schema)]))
}

/** What the bytes of a representation depend on, beside the item. */
interface RenderingInputs {
  readonly formats: readonly Format[]
  /** The digest of the schema. */
  readonly digest: string
  readonly links?: (context: never) => object
  readonly neighbors: { readonly children: ReadonlySet<string>, readonly hasParent: boolean }
  readonly attached: { readonly actions: ReadonlyMap<string, { readonly title: string, readonly condition: string }> }
  /** The custom actions that the caller may call; undefined if it may call all. */
  readonly allowedActions?: ReadonlySet<string> | undefined
}

/** The suffixes of entity tags, by format. */
export class TagSuffixes {
  readonly #inputs: RenderingInputs
  #byName: ReadonlyMap<string, string> | undefined

  constructor (inputs: RenderingInputs) {
    this.#inputs = inputs
  }

  get ({ name }: Format): string {
    // Built on the first request: collections that are registered later can add links.
    this.#byName ??= buildSuffixes(this.#inputs)
    return this.#byName.get(name)!
  }
}

/** What the links of custom actions depend on, beside the item. */
function describeActions ({ attached: { actions }, allowedActions }: RenderingInputs): unknown[] {
  return [...actions]
    .filter(([name]) => allowedActions?.has(name) !== false)
    .map(([name, { title, condition }]) => [name, title, condition])
}

/** By the name of the format. Functions are compared by their source text. */
function buildSuffixes (inputs: RenderingInputs): ReadonlyMap<string, string> {
  const { formats, digest, links, neighbors } = inputs
  return new Map(formats.map(({ name, mediaType, item, list, join }) => {
    const rendering = [digest, mediaType, String(item), String(list), String(join)]
    // Formats with `join` have no links in their content.
    const linking = join === undefined
      ? [String(links), [...neighbors.children].sort(), neighbors.hasParent, ...describeActions(inputs)]
      : []
    return [name, `${shortDigest([rendering, linking])}.${name}`]
  }))
}

import type { Format } from '../../formats/format.ts'
import { shortDigest } from '../../schema/digest.ts'

/** A relation, as links have it. */
export interface LinkedRelation {
  readonly to: string
  readonly isMany: boolean
  readonly property: string
  readonly equals: string
}

/** What the bytes of a representation depend on, beside the item. */
interface RenderingInputs {
  readonly formats: readonly Format[]
  /** The digest of the schema. */
  readonly digest: string
  readonly links?: (context: never) => object
  /** What the app states about everything else. */
  readonly etag: { readonly version?: string | undefined }
  readonly app: {
    readonly neighbors: { readonly children: ReadonlySet<string>, readonly hasParent: boolean }
  }
  readonly attached: {
    readonly actions: ReadonlyMap<string, { readonly title: string, readonly condition: string }>
    readonly relations: ReadonlyMap<string, LinkedRelation>
  }
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

/** What the links of relations depend on, beside the item. */
function describeRelations ({ attached: { relations } }: RenderingInputs): unknown[] {
  return [...relations].map(([name, { to, isMany, property, equals }]) => [name, to, isMany, property, equals])
}

/** By the name of the format. Functions are compared by their source text. */
function buildSuffixes (inputs: RenderingInputs): ReadonlyMap<string, string> {
  const { formats, digest, links, etag: { version = '' }, app: { neighbors } } = inputs
  const suffixes = new Map<string, string>()
  for (const { name, mediaType, item, list, hasLinks, hasTags, embed } of formats) {
    const rendering = [digest, mediaType, String(item), String(list), ...version === '' ? [] : [version]]
    const linking = hasLinks === false
      ? []
      : [String(links), [...neighbors.children].sort(), neighbors.hasParent, ...describeActions(inputs)]
    const relations = describeRelations(inputs)
    if (relations.length > 0) linking.push(String(embed?.write), relations)
    // It contains the tags of the others, which come before it.
    if (hasTags === true) linking.push(...suffixes.values())
    suffixes.set(name, `${shortDigest([rendering, linking])}.${name}`)
  }
  return suffixes
}

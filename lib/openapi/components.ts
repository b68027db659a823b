import type { JsonSchema } from '../storage/contract.ts'
import { version30 } from './version-3-0.ts'

/** A document of OpenAPI 3, as far as it is read or written here. */
export interface OpenApi {
  readonly openapi: string
  readonly security?: readonly unknown[]
  tags?: ReadonlyArray<{ readonly name: string, readonly description?: string }>
  components: Record<string, Record<string, unknown>>
  readonly paths: Record<string, Record<string, unknown>>
}

export interface Reference extends JsonSchema { readonly $ref: string }

export type ComponentKind = 'schemas' | 'responses' | 'headers' | 'parameters'

/** What the operations of one document share. Names that the app has given to components of its own are left to them. */
export class Components {
  readonly #document: OpenApi
  readonly #own = new Map<ComponentKind, Record<string, unknown>>()
  readonly #names = new Map<string, string>()
  readonly #stems = new Map<object, string>()

  constructor (document: OpenApi) {
    this.#document = document
  }

  /** The component is made when it is first referred to. */
  reference (kind: ComponentKind, name: string, make: (self: Reference) => unknown): Reference {
    const key = `${kind}/${name}`
    const known = this.#names.get(key)
    if (known !== undefined) return { $ref: `#/components/${kind}/${known}` }
    const components = this.#of(kind)
    const given = free(name, taken => Object.hasOwn(components, taken))
    const self = { $ref: `#/components/${kind}/${given}` }
    this.#names.set(key, given)
    // Its place is kept while it is made: it may refer to itself, and to others.
    components[given] = {}
    const made = make(self)
    components[given] = this.written(made)
    return self
  }

  /** A plain copy, in the words of the document's version: it may be changed by whoever asked for it, and nothing is shared with the next one. */
  written (part: unknown): object {
    const copy: unknown = JSON.parse(JSON.stringify(part))
    // An object is written as an object.
    return (this.#document.openapi.startsWith('3.0') ? version30(copy) : copy) as object
  }

  #of (kind: ComponentKind): Record<string, unknown> {
    let components = this.#own.get(kind)
    // What is there is of the app's options.
    if (components === undefined) this.#own.set(kind, components = this.#document.components[kind] = { ...this.#document.components[kind] })
    return components
  }

  /** What the names of all components begin with that are about one thing: the first of the names that is not that of another. */
  stem (about: object, names: readonly [string, ...string[]]): string {
    const known = this.#stems.get(about)
    if (known !== undefined) return known
    const taken = new Set(this.#stems.values())
    const stem = names.find(name => !taken.has(name)) ?? free(names[0], name => taken.has(name))
    this.#stems.set(about, stem)
    return stem
  }
}

function free (name: string, taken: (name: string) => boolean): string {
  let given = name
  for (let number = 2; taken(given); number++) given = `${name}${number}`
  return given
}

const known = new WeakMap<OpenApi, Components>()

export function componentsOf (document: OpenApi): Components {
  let components = known.get(document)
  if (components === undefined) {
    document.components = { ...document.components }
    known.set(document, components = new Components(document))
  }
  return components
}

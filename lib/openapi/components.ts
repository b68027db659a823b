import type { ComponentKind, DescribedComponents, Reference } from '../engine/operation-object.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { toOpenApi30 } from './version-3-0.ts'

/** The parts of an OpenAPI 3 document that are read or written here. */
export interface OpenApi {
  readonly openapi: string
  readonly security?: readonly unknown[]
  tags?: ReadonlyArray<{ readonly name: string, readonly description?: string }>
  components: Record<string, Record<string, unknown>>
  readonly paths: Record<string, Record<string, unknown>>
}

/** The components of one document. Components of the app keep their names. */
export class Components implements DescribedComponents {
  /** Whether the version of the document has the method QUERY: 3.2 or later. */
  readonly supportsQuery: boolean
  readonly #document: OpenApi
  readonly #byKind = new Map<ComponentKind, Record<string, unknown>>()
  readonly #names = new Map<string, string>()
  readonly #stems = new Map<object, string>()

  constructor (document: OpenApi) {
    this.#document = document
    this.supportsQuery = Number(/^3\.(\d+)/.exec(document.openapi)?.[1]) >= 2
  }

  /** Returns a reference to a component, and builds the component on the first call. */
  reference (kind: ComponentKind, name: string, build: (self: Reference) => unknown): Reference {
    const key = `${kind}/${name}`
    const known = this.#names.get(key)
    if (known !== undefined) return { $ref: `#/components/${kind}/${known}` }
    const components = this.#getComponents(kind)
    const unique = toUniqueName(name, (candidate) => Object.hasOwn(components, candidate))
    const self = { $ref: `#/components/${kind}/${unique}` }
    this.#names.set(key, unique)
    // Reserves the name: the component may refer to itself and to others.
    components[unique] = {}
    const component = build(self)
    components[unique] = this.convert(component)
    return self
  }

  /** Returns a schema that allows the object that a reference describes, or null. */
  describeNullable (reference: JsonSchema): JsonSchema {
    // A choice of null alone is more exact, but generators such as orval cannot express it.
    return this.#isVersion30
      ? { type: 'object', nullable: true, allOf: [reference] }
      : { anyOf: [reference, { type: 'null' }] }
  }

  get #isVersion30 (): boolean {
    return this.#document.openapi.startsWith('3.0')
  }

  /** Copies a part of a document, in the version of the document. The copy shares nothing, so callers can change it. */
  convert (part: unknown): object {
    const copy: unknown = JSON.parse(JSON.stringify(part))
    return (this.#isVersion30 ? toOpenApi30(copy) : copy) as object
  }

  #getComponents (kind: ComponentKind): Record<string, unknown> {
    let components = this.#byKind.get(kind)
    if (components === undefined) {
      // A copy: these objects belong to the options of the app.
      components = { ...this.#document.components[kind] }
      this.#document.components[kind] = components
      this.#byKind.set(kind, components)
    }
    return components
  }

  /** Returns what all component names of a subject begin with: the first of the names that no other subject has. */
  getStem (subject: object, names: readonly [string, ...string[]]): string {
    const known = this.#stems.get(subject)
    if (known !== undefined) return known
    const used = new Set(this.#stems.values())
    const stem = names.find((name) => !used.has(name)) ?? toUniqueName(names[0], (name) => used.has(name))
    this.#stems.set(subject, stem)
    return stem
  }
}

function toUniqueName (name: string, isUsed: (name: string) => boolean): string {
  let unique = name
  for (let number = 2; isUsed(unique); number++) unique = `${name}${number}`
  return unique
}

const byDocument = new WeakMap<OpenApi, Components>()

export function getComponents (document: OpenApi): Components {
  let components = byDocument.get(document)
  if (components === undefined) {
    document.components = { ...document.components }
    components = new Components(document)
    byDocument.set(document, components)
  }
  return components
}

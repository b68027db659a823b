import type { JsonSchema } from '../storage/contract.ts'
import { branches, elements, openings, resolved } from './subschemas.ts'

// What the schema says of its properties, at any depth: which a client may write (readOnly), see (writeOnly) and change
// (immutable), and which have a default. Where branches of a union disagree, the stricter one counts.

export const marks = ['readOnly', 'writeOnly', 'immutable'] as const

export type Mark = typeof marks[number]

export interface Properties extends Readonly<Record<Mark, boolean>> {
  readonly default: unknown
  /** What is said anywhere below. */
  readonly carries: Record<Mark | 'default' | 'secret', boolean>
  readonly named: Map<string, Properties>
  /** The names of those that bear the mark, or carry it; and of those that a client cannot write or see whole. */
  readonly concerned: Record<Mark | 'partly', readonly string[]>
  others: Properties | undefined
  items: Properties | undefined
}

/** A schema of a value, and whether it is certain that the value is meant to be one of it. */
interface Part {
  readonly schema: JsonSchema
  readonly certain: boolean
}

export function propertiesOf (schema: JsonSchema): Properties {
  const reader = new Reader(schema)
  const properties = reader.read([{ schema, certain: true }])
  settle([...reader.known.values()])
  return properties
}

class Reader {
  /** By the schemas that make them up, so that a recursive schema ends. */
  readonly known = new Map<string, Properties>()
  readonly #root: JsonSchema
  readonly #numbers = new Map<JsonSchema, number>()

  constructor (root: JsonSchema) {
    this.#root = root
  }

  read (given: readonly Part[]): Properties {
    const parts = spread(given, this.#root)
    const key = parts.map(part => this.#number(part)).sort().join()
    const seen = this.known.get(key)
    if (seen !== undefined) return seen
    const bears = (mark: Mark): boolean => parts.some(({ schema }) => schema[mark] === true)
    const properties: Properties = {
      readOnly: bears('readOnly'),
      writeOnly: bears('writeOnly'),
      immutable: bears('immutable'),
      default: defaultOf(given, this.#root),
      carries: { readOnly: false, writeOnly: false, immutable: false, default: false, secret: false },
      named: new Map(),
      concerned: { readOnly: [], writeOnly: [], immutable: [], partly: [] },
      others: undefined,
      items: undefined
    }
    this.known.set(key, properties)
    for (const name of new Set(parts.flatMap(({ schema }) => Object.keys(schema.properties ?? {})))) {
      properties.named.set(name, this.read(below(parts, ({ properties = {} }) => Object.hasOwn(properties, name) ? [properties[name]!] : [])))
    }
    properties.others = this.#optional(below(parts, openings))
    properties.items = this.#optional(below(parts, elements))
    return properties
  }

  #optional (parts: readonly Part[]): Properties | undefined {
    return parts.length === 0 ? undefined : this.read(parts)
  }

  #number ({ schema, certain }: Part): string {
    const number = this.#numbers.get(schema) ?? this.#numbers.size
    this.#numbers.set(schema, number)
    return certain ? `${number}` : `${number}?`
  }
}

/** The schemas below the parts; several at one place, as in a tuple, leave it open which of them is meant. */
function below (parts: readonly Part[], find: (schema: JsonSchema) => readonly JsonSchema[]): Part[] {
  return parts.flatMap(({ schema, certain }) => find(schema).map((inner, _index, all) => ({ schema: inner, certain: certain && all.length === 1 })))
}

/** The parts with everything that they refer to and consist of, each once. */
function spread (given: readonly Part[], root: JsonSchema): readonly Part[] {
  const parts = new Map<JsonSchema, Part>()
  const add = ({ schema, certain }: Part): void => {
    for (const each of resolved(schema, root)) {
      if (parts.has(each)) continue
      parts.set(each, { schema: each, certain })
      for (const branch of branches(each, ['allOf'])) add({ schema: branch, certain })
      // Within a union of several objects it is not known before which of them is meant.
      const choices = branches(each, ['anyOf', 'oneOf'])
      const single = choices.flatMap(choice => resolved(choice, root)).filter(choice => choice.properties !== undefined).length === 1
      for (const choice of choices) add({ schema: choice, certain: certain && single })
    }
  }
  given.forEach(add)
  return [...parts.values()]
}

/** The default of the value itself: one of a branch is only about that branch. */
function defaultOf (given: readonly Part[], root: JsonSchema): unknown {
  const said = given.filter(({ certain }) => certain).flatMap(({ schema }) => resolved(schema, root)).flatMap(schema => [schema, ...branches(schema, ['allOf'])])
  return said.find(schema => schema.default !== undefined)?.default
}

/** A property that is writeOnly and cannot be changed either: to answer differently to its value and to another would let it be guessed. */
export function isSecret ({ writeOnly, readOnly, immutable }: Properties): boolean {
  return writeOnly && (readOnly || immutable)
}

function settle (nodes: readonly Properties[]): void {
  for (const node of nodes) {
    for (const mark of marks) node.carries[mark] = holds(node, child => child[mark])
    node.carries.default = holds(node, child => child.default !== undefined)
    node.carries.secret = holds(node, isSecret)
  }
  for (const node of nodes) {
    for (const mark of marks) node.concerned[mark] = [...node.named].filter(([, child]) => child[mark] || child.carries[mark]).map(([name]) => name)
    node.concerned.partly = [...new Set([...node.concerned.readOnly, ...node.concerned.writeOnly])]
  }
}

function holds (node: Properties, test: (node: Properties) => boolean): boolean {
  const waiting = new Set([node])
  for (const { named, others, items } of waiting) {
    const children = [...named.values(), others, items].filter(child => child !== undefined)
    if (children.some(test)) return true
    for (const child of children) waiting.add(child)
  }
  return false
}

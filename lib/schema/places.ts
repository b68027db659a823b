import type { JsonSchema } from '../storage/contract.ts'
import { getBranches, getItemSchemas, getOpenSchemas, resolveSchema } from '../json-schema/subschemas.ts'

/** A place in the values of a schema, such as a property or the items of an array, and the places below it. */
export interface Place<Self> {
  readonly named: Map<string, Self>
  /** The properties that the schema does not name. */
  others: Self | undefined
  items: Self | undefined
}

/** One of the schemas of a place. */
export interface Part {
  readonly schema: JsonSchema
  /** Whether it certainly applies. */
  readonly certain: boolean
  /** Whether it is a branch of a union. */
  readonly isChoice: boolean
}

interface PlaceRules<Self> {
  /** Creates a place, without those below it. `parts` are its schemas, with everything that they consist of. */
  readonly create: (parts: readonly Part[], given: readonly Part[]) => Self
  /** Returns the schemas that a part has for a property, which this or another part of the place names. */
  readonly findSchemas: (part: Part, name: string) => readonly JsonSchema[]
}

/** Visits the places in the values of a schema. */
export class PlaceReader<Self extends Place<Self>> {
  readonly #root: JsonSchema
  readonly #rules: PlaceRules<Self>
  /** By the schemas of a place. Without it, a recursive schema would never end. */
  readonly #known = new Map<string, Self>()
  readonly #numbers = new Map<JsonSchema, number>()

  constructor (root: JsonSchema, rules: PlaceRules<Self>) {
    this.#root = root
    this.#rules = rules
  }

  get places (): readonly Self[] {
    return [...this.#known.values()]
  }

  /** Returns the place of the values of a schema. */
  read (schema: JsonSchema): Self {
    return this.#readPlace([{ schema, certain: true, isChoice: false }])
  }

  #readPlace (given: readonly Part[]): Self {
    const { create, findSchemas } = this.#rules
    const parts = expandParts(given, this.#root)
    const key = parts.map((part) => this.#getKey(part)).sort().join()
    const known = this.#known.get(key)
    if (known !== undefined) return known

    const place = create(parts, given)
    this.#known.set(key, place)
    for (const name of new Set(parts.flatMap(({ schema }) => Object.keys(schema.properties ?? {})))) {
      place.named.set(name, this.#readPlace(getInnerParts(parts, (part) => findSchemas(part, name))))
    }
    place.others = this.#readIfAny(getInnerParts(parts, ({ schema }) => getOpenSchemas(schema)))
    place.items = this.#readIfAny(getInnerParts(parts, ({ schema }) => getItemSchemas(schema)))
    return place
  }

  #readIfAny (parts: readonly Part[]): Self | undefined {
    return parts.length === 0 ? undefined : this.#readPlace(parts)
  }

  #getKey ({ schema, certain }: Part): string {
    const number = this.#numbers.get(schema) ?? this.#numbers.size
    this.#numbers.set(schema, number)
    return certain ? `${number}` : `${number}?`
  }
}

/** Adds everything that the parts refer to and consist of. */
function expandParts (given: readonly Part[], root: JsonSchema): readonly Part[] {
  const parts = new Map<JsonSchema, Part>()
  const add = ({ schema, certain, isChoice }: Part): void => {
    for (const resolved of resolveSchema(schema, root)) {
      if (parts.has(resolved)) continue
      parts.set(resolved, { schema: resolved, certain, isChoice })
      for (const branch of getBranches(resolved, ['allOf'])) add({ schema: branch, certain, isChoice: false })
      // In a union of several objects it is unknown which of them a value will be.
      const choices = getBranches(resolved, ['anyOf', 'oneOf'])
      const objects = choices
        .flatMap((choice) => resolveSchema(choice, root))
        .filter((choice) => choice.properties !== undefined)
      for (const choice of choices) add({ schema: choice, certain: certain && objects.length === 1, isChoice: true })
    }
  }
  given.forEach(add)
  return [...parts.values()]
}

/** If several schemas describe one place, as in a tuple, none of them certainly applies. */
function getInnerParts (parts: readonly Part[], find: (part: Part) => readonly JsonSchema[]): Part[] {
  return parts.flatMap((part) => {
    const found = find(part)
    return found.map((schema) => ({ schema, certain: part.certain && found.length === 1, isChoice: false }))
  })
}

/** Whether a test is true for a place below. */
export function hasBelow<Self extends Place<Self>> (place: Self, test: (below: Self) => boolean): boolean {
  const queue = new Set([place])
  for (const { named, others, items } of queue) {
    const children = [...named.values(), others, items].filter((child) => child !== undefined)
    if (children.some(test)) return true
    for (const child of children) queue.add(child)
  }
  return false
}

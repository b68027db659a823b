import { formatValue } from '../errors/format-value.ts'
import { isObject } from '../http/json-value.ts'

// Tables of options: what each must be, and what it is if it is left out. They check callers without TypeScript.

/** What an option must be. */
export interface OptionKind {
  /** In words, for the message. */
  readonly kind: string
  readonly matches: (value: unknown) => boolean
}

export interface Option extends OptionKind {
  /** The options in a group. */
  readonly group?: OptionTable
  /** What it is if it is left out. */
  readonly default?: unknown
  /** Finds other mistakes. `owner` is the name of what has the options. */
  readonly check?: (owner: string, value: never) => void
}

export type OptionTable = Readonly<Record<string, Option>>

export const anything: OptionKind = { kind: 'anything', matches: () => true }
export const array: OptionKind = { kind: 'an array', matches: Array.isArray }
export const callback: OptionKind = { kind: 'a function', matches: (value) => typeof value === 'function' }
export const boolean: OptionKind = { kind: 'true or false', matches: (value) => typeof value === 'boolean' }
export const string: OptionKind = { kind: 'a string', matches: (value) => typeof value === 'string' }
export const object: OptionKind = { kind: 'an object', matches: isObject }
export const onlyFalse: OptionKind = { kind: 'false', matches: (value) => value === false }

/** An object with options of its own. */
export function group<Table extends OptionTable> (options: Table): OptionKind & { readonly group: Table } {
  return { kind: `an object with ${Object.keys(options).join(', ')}`, matches: isObject, group: options }
}

/** A group, or a single value that stands for all of it. */
export function valueOrGroup<Whole extends OptionKind> (value: OptionKind, whole: Whole): Whole {
  return {
    ...whole,
    kind: `${value.kind} or ${whole.kind}`,
    matches: (given: unknown) => value.matches(given) || whole.matches(given)
  }
}

interface CheckContext {
  readonly owner: string
  /** Says where an unknown option belongs, if that is known. */
  readonly suggest?: (option: string) => string
  /** Throws the error of a mistake. */
  readonly fail: (message: string) => never
}

/** Refuses options that do not exist, or have another type. */
export function checkTable (table: OptionTable, options: object, context: CheckContext, prefix = ''): void {
  const { owner, suggest, fail } = context
  for (const [name, value] of Object.entries(options)) {
    const path = prefix + name
    const known = Object.hasOwn(table, name) ? table[name] : undefined
    if (known === undefined) {
      const names = Object.keys(table).map((other) => prefix + other)
      const hint = prefix === '' ? suggest?.(name) ?? '' : ''
      return fail(`there is no option "${path}". ${hint}Available options: ${names.join(', ')}.`)
    }
    if (value === undefined) continue
    if (!known.matches(value)) fail(`${path} is ${formatValue(value)}. It must be ${known.kind}.`)
    if (known.group !== undefined && isObject(value)) checkTable(known.group, value, context, `${path}.`)
    known.check?.(owner, value as never)
  }
}

/** Fills in the defaults. An option that is undefined counts as missing. */
export function fillTable (table: OptionTable, options: object): Record<string, unknown> {
  const filled: Record<string, unknown> = {}
  for (const [name, { group, default: missing }] of Object.entries(table)) {
    const given: unknown = Reflect.get(options, name) ?? missing
    const isGroup = group !== undefined && (given === undefined || isObject(given))
    filled[name] = isGroup ? fillTable(group, given ?? {}) : given
  }
  return filled
}

/** Returns the names of all options, with those in groups: `id`, `id.property` and so on. */
export function listNames (table: OptionTable, prefix = ''): string[] {
  return Object.entries(table).flatMap(([name, { group = {} }]) => {
    return [prefix + name, ...listNames(group, `${prefix}${name}.`)]
  })
}

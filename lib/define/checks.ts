import { BadName, BadOption, BadStorage, Unsupported } from '../errors/errors.ts'
import { formatValue } from '../errors/format-value.ts'
import { isObject } from '../http/json-value.ts'
import type { ListSettings } from '../query/lists.ts'
import type { QueryableProperty } from '../query/queryable.ts'
import { checkObject, checkKnownOptions } from './option-table.ts'
import type { Options } from '../engine/definition.ts'
import { describeUnorderedNumeral } from '../schema/numerals.ts'
import type { ObjectSchema } from '../schema/static.ts'
import type { Storage } from '../storage/contract.ts'

// Mistakes in a definition that are not about one option alone, found at boot.

export function checkOptions<Schema extends ObjectSchema> (options: Options<Schema>): void {
  checkObject(options, 'define({ name, schema, storage })')
  const { name } = options
  if (typeof name !== 'string' || !/^[\w.~-]*[\w~-]$/.test(name)) throw new BadName(formatValue(name))
  checkKnownOptions(name, options)
  if (options.storage === undefined) {
    throw new BadOption(name, 'storage is missing. Add one, such as storage: memory().')
  }
  if (typeof options.storage !== 'function') {
    throw new BadStorage(name, `storage is ${toKind(options.storage)}. ` +
      'It must be what a storage function returns, as in storage: memory() or storage: sqlite(database).')
  }
  if (options.put?.create === true && options.id?.generate === 'storage') {
    throw new BadOption(name, 'put.create needs ids that a client can choose, but id.generate is "storage". ' +
      'Remove one of them.')
  }
}

/** `known` are the properties that lists can be queried by. */
export function checkListing (
  name: string,
  known: ReadonlyMap<string, QueryableProperty>,
  { filter, sort, search }: Pick<ListSettings, 'filter' | 'sort' | 'search'>
): void {
  const scalars = [...known.values()].filter(({ isArray }) => !isArray)
  const strings = scalars.filter(({ type }) => type === 'string')
  checkChoice('filter', filter, [...known.values()])
  checkChoice('sort', sort, scalars)
  checkChoice('search', search, strings)
  const numeral = sort?.find((property) => known.get(property)?.ordered === false)
  if (numeral !== undefined) throw new BadOption(name, describeUnorderedNumeral('list.sort', numeral))

  function checkChoice (
    option: keyof typeof choiceKinds,
    properties: readonly string[] = [],
    choice: readonly QueryableProperty[]
  ): void {
    const available = choice.map(({ property }) => property)
    const unknown = properties.find((property) => !available.includes(property))
    if (unknown === undefined) return
    throw new BadOption(name, `list.${option} contains "${unknown}", ` +
      `which is not ${choiceKinds[option]} that clients can read. Available properties: ${available.join(', ')}.`)
  }
}

const choiceKinds = {
  filter: 'a string, number or boolean, or an array of these,',
  sort: 'a string, number or boolean',
  search: 'a string'
}

const storageMethods = ['list', 'find', 'insert', 'replace', 'remove'] as const

/** Returns what a storage function has returned, if it is a storage. */
export function checkStorage<Item> (name: string, storage: Storage<Item>): Storage<Item> {
  const given: unknown = storage
  if (typeof given === 'function') {
    throw new BadStorage(name, 'storage returns a function instead of a storage. Call it, as in storage: memory().')
  }
  if (!isObject(given) || isPromise(given)) {
    throw new BadStorage(name, `storage returns ${toKind(given)} instead of a storage. ` +
      `It must return an object with ${storageMethods.join(', ')}, name and supports.`)
  }
  const { supports, receipts } = storage
  const missing: string[] = storageMethods.filter((method) => typeof storage[method] !== 'function')
  if (typeof storage.name !== 'string') missing.push('name')
  if (!isObject(supports)) missing.push('supports')
  else if (supports.transactions && typeof storage.transaction !== 'function') missing.push('transaction')
  else if (supports.receipts && !isObject(receipts)) missing.push('receipts')
  if (missing.length > 0) {
    throw new BadStorage(name, `what storage returns has no ${missing.join(', ')}. ` +
      'docs/storage.md describes the contract of a storage.')
  }
  return storage
}

function isPromise (value: unknown): boolean {
  return typeof (value as { then?: unknown }).then === 'function'
}

/** Never the value itself: a URL may contain a password. */
function toKind (value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  return isPromise(value) ? 'a promise' : 'an object'
}

const needs = {
  unique: 'the option unique needs unique values',
  generatedIds: 'id.generate: "storage" needs ids from the storage',
  order: 'list.order and list.sort need an order by other properties than the id',
  filter: 'list.filter and access.scope need filters',
  arrays: 'list.filter contains an array, which needs the conditions contains and overlaps',
  search: 'list.search needs a search',
  transactions: 'hooks.beforeWrite and hooks.afterWrite run inside a transaction'
} as const

/** Refuses options that the storage cannot provide. */
export function checkSupport (
  name: string,
  storage: Pick<Storage<object>, 'name' | 'supports'>,
  needed: Partial<Readonly<Record<keyof typeof needs, boolean>>>
): void {
  for (const need of Object.keys(needs) as Array<keyof typeof needs>) {
    if (needed[need] === true && storage.supports[need] !== true) throw new Unsupported(name, needs[need], storage.name)
  }
}

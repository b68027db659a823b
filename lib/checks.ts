import { BadName, BadOption, BadStorage, Unsupported } from './errors.ts'
import type { ListingOptions } from './listing/listing.ts'
import type { Queryable } from './listing/queryable.ts'
import { actionNames, optionNames, ownedRouteOptions } from './options.ts'
import type { ActionName, Options } from './options.ts'
import { unorderedNumeral } from './schema/numerals.ts'
import type { ObjectSchema } from './schema/static.ts'
import type { Storage } from './storage/contract.ts'

// What a developer can get wrong in the options of a definition, told at boot.

export function checkOptions<Schema extends ObjectSchema> (options: Options<Schema>): void {
  const { name, routes, page, replace, id, problems, formats } = options
  if (typeof name !== 'string' || !/^[\w.~-]*[\w~-]$/.test(name)) throw new BadName(JSON.stringify(name))
  checkKinds(name, options)
  if (options.storage === undefined) throw new BadOption(name, 'storage is missing. Give it one, such as storage: memory().')
  if (typeof options.storage !== 'function') throw new BadStorage(name, `storage is ${toKind(options.storage)}. It must be what a storage function returns, as in storage: memory() or storage: sqlite(database).`)
  for (const action of options.actions ?? []) {
    if (!actionNames.includes(action)) throw new BadOption(name, `there is no action "${String(action)}". The actions are: ${actionNames.join(', ')}.`)
  }
  for (const [action, route] of Object.entries(routes ?? {})) {
    if (action !== 'every' && !actionNames.includes(action as ActionName)) throw new BadOption(name, `routes names "${action}". Use "every" or an action: ${actionNames.join(', ')}.`)
    const owned = ownedRouteOptions.find(option => Object.hasOwn(route, option))
    if (owned !== undefined) throw new BadOption(name, `routes.${action}.${owned} is set by the library itself. Take it away.`)
  }
  const { default: size = 20, maximum = 100 } = page ?? {}
  if (!(Number.isInteger(size) && Number.isInteger(maximum) && size >= 1 && size <= maximum)) throw new BadOption(name, `page is { default: ${size}, maximum: ${maximum} }. Both are whole numbers, and 1 <= default <= maximum.`)
  if (replace?.creates === true && id?.generate === 'storage') throw new BadOption(name, 'replace.creates needs ids that a client can choose, but id.generate is "storage". Leave one of them out.')
  if (problems !== undefined && !URL.canParse(problems)) throw new BadOption(name, `problems is ${JSON.stringify(problems)}. Make it an absolute URI, such as "https://example.com/problems/".`)
  if (formats !== undefined && (formats.length === 0 || new Set(formats.map(format => format.name)).size < formats.length || new Set(formats.map(format => format.mediaType)).size < formats.length)) throw new BadOption(name, 'formats needs at least one format, each with a name and a media type of its own. Leave it out for JSON.')
}

interface Kind {
  /** In words, for the message. */
  readonly kind: string
  readonly fits: (value: unknown) => boolean
  /** The names that an object of it has. */
  readonly names?: readonly string[]
}

const list: Kind = { kind: 'an array', fits: Array.isArray }
const hook: Kind = { kind: 'a function', fits: value => typeof value === 'function' }
const text: Kind = { kind: 'text', fits: value => typeof value === 'string' }
const oneOf = (...values: readonly string[]): Kind => ({ kind: values.map(value => `"${value}"`).join(' or '), fits: value => values.includes(value as string) })
const group = (...names: readonly string[]): Kind => ({ kind: `an object with ${names.join(' and ')}`, fits: isObject, names })
const either = (kind: string, also: (value: unknown) => boolean, group: Kind): Kind => ({ ...group, kind: `${kind} or ${group.kind}`, fits: value => also(value) || group.fits(value) })

/** What the options are, but for those that are looked at more closely. */
const kinds: Readonly<Record<string, Kind>> = {
  id: group('property', 'generate'),
  unique: list,
  timestamps: either('false', value => value === false, group('created', 'updated')),
  actions: list,
  routes: { kind: 'an object', fits: isObject },
  authentication: group('caller', 'challenge', 'fields'),
  access: { kind: '"public", "authenticated", a function, or an object with one for each action', fits: value => typeof value === 'function' || typeof value === 'string' || isObject(value) },
  scope: hook,
  visible: { kind: 'an object with a function for each property', fits: value => isObject(value) && Object.values(value as object).every(inner => inner === undefined || hook.fits(inner)) },
  page: group('default', 'maximum'),
  order: list,
  filter: list,
  sort: list,
  search: list,
  replace: group('creates', 'tag'),
  precondition: oneOf('optional', 'required'),
  weakTags: oneOf('refused', 'tolerated'),
  cache: either('text', text.fits, group('list', 'read')),
  formats: list,
  links: hook,
  serviceDescription: text,
  prepare: hook,
  changed: hook
}

function isObject (value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function checkKinds (name: string, options: object): void {
  for (const [option, value] of Object.entries(options)) {
    if (!optionNames.has(option)) throw new BadOption(name, `there is no option "${option}". The options are: ${[...optionNames].join(', ')}.`)
    const known = kinds[option]
    if (known === undefined || value === undefined) continue
    const { kind, fits, names } = known
    if (!fits(value)) throw new BadOption(name, `${option} is ${JSON.stringify(value)}. It must be ${kind}.`)
    const unknown = names !== undefined && isObject(value) ? Object.keys(value).find(part => !names.includes(part)) : undefined
    if (unknown !== undefined) throw new BadOption(name, `there is no option "${option}.${unknown}". ${option} is ${kind}.`)
  }
}

/** `known` are the properties that a list can be asked by. */
export function checkListing (name: string, known: ReadonlyMap<string, Queryable>, { filter, sort, search }: ListingOptions): void {
  const texts = [...known.values()].filter(({ type }) => type === 'string').map(({ property }) => property)
  for (const [option, properties = [], kind, choice] of [['filter', filter, 'scalar', [...known.keys()]], ['sort', sort, 'scalar', [...known.keys()]], ['search', search, 'text', texts]] as const) {
    const unknown = properties.find(property => !choice.includes(property))
    if (unknown !== undefined) throw new BadOption(name, `${option} names "${unknown}", which is no ${kind} that clients see. Choose of: ${choice.join(', ')}.`)
  }
  const numeral = sort?.find(property => known.get(property)?.ordered === false)
  if (numeral !== undefined) throw new BadOption(name, unorderedNumeral('sort', numeral))
}

const verbs = ['list', 'find', 'insert', 'replace', 'remove'] as const

/** What a storage function returned, if it is a storage. */
export function checkStorage<Item> (name: string, storage: Storage<Item>): Storage<Item> {
  const given: unknown = storage
  if (typeof given === 'function') throw new BadStorage(name, 'storage returns a function instead of a storage. Call it, as in storage: memory().')
  if (!isObject(given) || isPromise(given)) throw new BadStorage(name, `storage returns ${toKind(given)} instead of a storage. It must return an object with ${verbs.join(', ')}, name and supports.`)
  const { supports, receipts } = storage
  const missing: string[] = verbs.filter(verb => typeof storage[verb] !== 'function')
  if (typeof storage.name !== 'string') missing.push('name')
  if (!isObject(supports)) missing.push('supports')
  else if (supports.transactions && typeof storage.transaction !== 'function') missing.push('transaction')
  else if (supports.receipts && !isObject(receipts)) missing.push('receipts')
  if (missing.length > 0) throw new BadStorage(name, `what storage returns has no ${missing.join(', ')}. docs/storage.md has the contract of a storage.`)
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

const asked = {
  unique: 'unique is asked for',
  generatedIds: 'ids made by the storage are asked for (id.generate)',
  order: 'an order by other properties than the id is asked for',
  filter: 'filters, or a scope of rows, are asked for',
  search: 'a search is asked for'
} as const

export function checkSupport (name: string, storage: Storage<object>, needs: Readonly<Record<keyof typeof asked, boolean>>): void {
  for (const need of Object.keys(asked) as Array<keyof typeof asked>) {
    if (needs[need] && !storage.supports[need]) throw new Unsupported(name, asked[need], storage.name)
  }
}

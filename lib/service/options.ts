import { BadService } from '../errors.ts'

// What a user writes for the whole service. docs/service.md has a line for each.

export interface ServiceOptions {
  /** The path of the home document; false where there is none. By default `/`, unless the app serves it itself. */
  home?: string | false
  /** What the service is called, in the home document. */
  title?: string
  /** Whether `/.well-known/api-catalog` is served. */
  catalog?: boolean
  /** The URI of the OpenAPI document. */
  description?: string
  /** The URI of what people read. */
  documentation?: string
  /** An absolute URI in front of the names of problems, as in a definition. */
  problems?: string
  /** Where it is told whether the process lives and whether its storages answer, and how long they may take, in milliseconds. */
  health?: { live?: string | false, ready?: string | false, deadline?: number, fresh?: number }
  /** Whether the app is looked at when it is ready; what is found is logged, or with `strict` refused. `origin` is one that its CORS allows. */
  audit?: false | { strict?: boolean, origin?: string }
  /** In milliseconds, how long a request may take to come in; false leaves it to the app. */
  requestTimeout?: number | false
}

type Filled = 'catalog' | 'requestTimeout'

export type Settings = Readonly<Required<Pick<ServiceOptions, Filled>> & Omit<ServiceOptions, Filled | 'health' | 'audit'>> & {
  readonly audit: false | { readonly strict: boolean, readonly origin: string }
  readonly health: { readonly live: string | false | undefined, readonly ready: string | false | undefined, readonly deadline: number, readonly fresh: number }
}

const text = { kind: 'text', fits: (value: unknown) => typeof value === 'string' }
const path = { kind: 'a path that begins with "/", or false', fits: (value: unknown) => value === false || (typeof value === 'string' && value.startsWith('/')) }
const truth = { kind: 'true or false', fits: (value: unknown) => typeof value === 'boolean' }
const time = { kind: 'a whole number of milliseconds', fits: (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 1 && value < 2 ** 31 }
const timeOrNone = { kind: `${time.kind}, or false`, fits: (value: unknown) => value === false || time.fits(value) }

interface Kind { readonly kind: string, readonly fits: (value: unknown) => boolean }

const kinds: Readonly<Record<keyof Omit<ServiceOptions, 'health' | 'audit'>, Kind>> = {
  home: path,
  title: text,
  catalog: truth,
  description: text,
  documentation: text,
  problems: { kind: 'an absolute URI', fits: value => typeof value === 'string' && URL.canParse(value) },
  requestTimeout: timeOrNone
}

const healthKinds: Readonly<Record<keyof NonNullable<ServiceOptions['health']>, Kind>> = { live: path, ready: path, deadline: time, fresh: time }
const auditKinds: Readonly<Record<'strict' | 'origin', Kind>> = { strict: truth, origin: text }

/** Every option, so that one that does not exist can be told. */
export const serviceOptionNames: readonly string[] = [...Object.keys(kinds), ...Object.keys(healthKinds).map(name => `health.${name}`), 'audit', ...Object.keys(auditKinds).map(name => `audit.${name}`)]

function check (given: object, known: Readonly<Record<string, Kind>>, prefix = ''): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    const expected = known[name]
    if (expected === undefined) throw new BadService(`there is no option "${prefix}${name}". The options are: ${serviceOptionNames.join(', ')}`)
    if (!expected.fits(value)) throw new BadService(`${prefix}${name} is ${JSON.stringify(value)}. It must be ${expected.kind}`)
  }
}

export function settings ({ health = {}, audit = {}, ...options }: ServiceOptions): Settings {
  check(options, kinds)
  check(health, healthKinds, 'health.')
  if (audit !== false) check(audit, auditKinds, 'audit.')
  const { live, ready, deadline = 1000, fresh = 1000 } = health
  return { ...options, catalog: options.catalog ?? true, requestTimeout: options.requestTimeout ?? 60_000, health: { live, ready, deadline, fresh }, audit: audit && { strict: false, origin: 'https://audit.example', ...audit } }
}

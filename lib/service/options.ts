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
  /** In milliseconds, how long a request may take to come in; false leaves it to the app. */
  requestTimeout?: number | false
}

export type Settings = Readonly<Required<Pick<ServiceOptions, 'catalog' | 'requestTimeout'>> & Omit<ServiceOptions, 'catalog' | 'requestTimeout'>>

const text = { kind: 'text', fits: (value: unknown) => typeof value === 'string' }
const path = { kind: 'a path that begins with "/", or false', fits: (value: unknown) => value === false || (typeof value === 'string' && value.startsWith('/')) }
const truth = { kind: 'true or false', fits: (value: unknown) => typeof value === 'boolean' }
const time = { kind: 'a whole number of milliseconds, or false', fits: (value: unknown) => value === false || (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value < 2 ** 31) }

const kinds: Readonly<Record<keyof ServiceOptions, { readonly kind: string, readonly fits: (value: unknown) => boolean }>> = {
  home: path,
  title: text,
  catalog: truth,
  description: text,
  documentation: text,
  problems: { kind: 'an absolute URI', fits: value => typeof value === 'string' && URL.canParse(value) },
  requestTimeout: time
}

/** Every option, so that one that does not exist can be told. */
export const serviceOptionNames: readonly string[] = Object.keys(kinds)

export function settings (options: ServiceOptions): Settings {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    // A name that is none of them has no kind.
    const known = kinds[name as keyof ServiceOptions] as typeof text | undefined
    if (known === undefined) throw new BadService(`there is no option "${name}". The options are: ${serviceOptionNames.join(', ')}`)
    if (!known.fits(value)) throw new BadService(`${name} is ${JSON.stringify(value)}. It has to be ${known.kind}`)
  }
  return { ...options, catalog: options.catalog ?? true, requestTimeout: options.requestTimeout ?? 60_000 }
}

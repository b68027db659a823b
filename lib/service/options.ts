import { BadService } from '../errors.ts'
import {
  boolean,
  checkTable,
  fillTable,
  group,
  listNames,
  onlyFalse,
  string,
  valueOrGroup
} from '../option-kinds.ts'
import type { Option, OptionKind } from '../option-kinds.ts'

// The options of the plugin `service`. docs/service.md describes each.

/** The options of the plugin `service`. */
export interface ServiceOptions {
  /**
   * The path of the home document, or false.
   *
   * @default '/', unless the app has a route there
   * @example
   * await app.register(service, { home: '/api' })
   */
  home?: string | false
  /**
   * The title of the service, in the home document.
   *
   * @default none
   * @example
   * await app.register(service, { title: 'Shop' })
   */
  title?: string
  /**
   * Whether `/.well-known/api-catalog` is served.
   *
   * @default true
   * @example
   * await app.register(service, { catalog: false })
   */
  catalog?: boolean
  /**
   * The URI of the OpenAPI document.
   *
   * @default none
   * @example
   * await app.register(service, { description: '/openapi.json' })
   */
  description?: string
  /**
   * The URI of the documentation.
   *
   * @default none
   * @example
   * await app.register(service, { documentation: '/docs' })
   */
  documentation?: string
  /**
   * Whether browsers can import the client from the service, or the path of the module.
   *
   * @default false; with true, the path is '/client.js'
   * @example
   * await app.register(service, { client: true })
   */
  client?: boolean | string
  /**
   * An absolute URI that the codes of problems are appended to, for their `type`.
   *
   * @default the type is `about:blank`
   * @example
   * await app.register(service, { problems: 'https://example.com/problems/' })
   */
  problems?: string
  /**
   * Whether errors of all other routes of the app, and its 404, are problems as well. Fastify applies it to the routes
   * that are added after the service.
   *
   * @default false
   * @example
   * await app.register(service, { appErrors: true })
   */
  appErrors?: boolean
  /**
   * Probes for a load balancer or an orchestrator.
   *
   * @default both are served
   * @example
   * await app.register(service, { health: { ready: '/ready', deadline: 500 } })
   */
  health?: HealthOptions
  /**
   * Checks the setup of the app when it is ready, unless it is false.
   *
   * @default findings are warnings in the log
   * @example
   * await app.register(service, { audit: { strict: true } })
   */
  audit?: false | AuditOptions
  /**
   * How long a client may take to send a request, in milliseconds; false leaves it to the app.
   *
   * @default 60000
   * @example
   * await app.register(service, { requestTimeout: 10_000 })
   */
  requestTimeout?: number | false
  /**
   * How long a client may take to receive what was sent to it, in milliseconds; false sets no limit.
   *
   * @default 60000
   * @example
   * await app.register(service, { responseTimeout: 30_000 })
   */
  responseTimeout?: number | false
  /**
   * How many requests a client may have open at the same time on one connection of HTTP/2; false leaves it to the app.
   *
   * @default 100
   * @example
   * await app.register(service, { maxConcurrentStreams: 20 })
   */
  maxConcurrentStreams?: number | false
}

/** The option `health`. */
export interface HealthOptions {
  /**
   * The path of the liveness probe, or false.
   *
   * @default '/healthz', unless the app has a route there
   * @example
   * health: { live: '/live' }
   */
  live?: string | false
  /**
   * The path of the readiness probe, or false.
   *
   * @default '/readyz', unless the app has a route there
   * @example
   * health: { ready: '/ready' }
   */
  ready?: string | false
  /**
   * How long each storage may take to respond, in milliseconds.
   *
   * @default 1000
   * @example
   * health: { deadline: 500 }
   */
  deadline?: number
  /**
   * How long the result of a check is reused, in milliseconds.
   *
   * @default 1000
   * @example
   * health: { fresh: 5000 }
   */
  fresh?: number
}

/** The option `audit`. */
export interface AuditOptions {
  /**
   * Whether a finding is an error at boot instead of a warning in the log.
   *
   * @default false
   * @example
   * audit: { strict: true }
   */
  strict?: boolean
  /**
   * An origin that the CORS settings of the app allow.
   *
   * @default 'https://audit.example'
   * @example
   * audit: { origin: 'https://app.example.com' }
   */
  origin?: string
}

type OptionWithDefault = 'appErrors' | 'catalog' | 'requestTimeout' | 'responseTimeout' | 'maxConcurrentStreams'

type FlatOptions = Omit<ServiceOptions, OptionWithDefault | 'client' | 'health' | 'audit'> &
  Required<Pick<ServiceOptions, OptionWithDefault>>

export type ServiceSettings = Readonly<FlatOptions> & {
  /** The path of the module of the client; undefined if it is not served. */
  readonly client: string | undefined
  readonly health: {
    readonly live: string | false | undefined
    readonly ready: string | false | undefined
    readonly deadline: number
    readonly fresh: number
  }
  readonly audit: false | {
    readonly strict: boolean
    readonly origin: string
  }
}

const path: OptionKind = {
  kind: 'a path that begins with "/", or false',
  matches: (value) => value === false || (typeof value === 'string' && value.startsWith('/'))
}

const pathOrBoolean: OptionKind = {
  kind: 'true, false or a path that begins with "/"',
  matches: (value) => value === true || path.matches(value)
}

const milliseconds: OptionKind = {
  kind: 'a whole number of milliseconds',
  matches: (value) => typeof value === 'number' && Number.isInteger(value) && value >= 1 && value < 2 ** 31
}

const millisecondsOrFalse: OptionKind = {
  kind: `${milliseconds.kind}, or false`,
  matches: (value) => value === false || milliseconds.matches(value)
}

const countOrFalse: OptionKind = { ...millisecondsOrFalse, kind: 'a whole number of at least 1, or false' }

const absoluteUri: OptionKind = {
  kind: 'an absolute URI',
  matches: (value) => typeof value === 'string' && URL.canParse(value)
}

const optionTable = {
  home: path,
  title: string,
  catalog: { ...boolean, default: true },
  description: string,
  documentation: string,
  client: pathOrBoolean,
  problems: absoluteUri,
  appErrors: { ...boolean, default: false },
  requestTimeout: { ...millisecondsOrFalse, default: 60_000 },
  responseTimeout: { ...millisecondsOrFalse, default: 60_000 },
  maxConcurrentStreams: { ...countOrFalse, default: 100 },
  health: group({
    live: path,
    ready: path,
    deadline: { ...milliseconds, default: 1000 },
    fresh: { ...milliseconds, default: 1000 }
  }),
  audit: valueOrGroup(onlyFalse, group({
    strict: { ...boolean, default: false },
    origin: { ...string, default: 'https://audit.example' }
  }))
} satisfies Record<keyof ServiceOptions, Option>

/** All options, with those in groups. docs/service.md is tested against it. */
export const serviceOptionNames: readonly string[] = listNames(optionTable)

/** Checks the options and adds defaults. */
export function parseOptions ({ ...options }: ServiceOptions): ServiceSettings {
  checkTable(optionTable, options, {
    owner: 'service',
    fail (message) {
      throw new BadService(message)
    }
  })
  // The table has a default for each option that the settings require.
  const filled = fillTable(optionTable, options) as unknown as ServiceSettings
  return { ...filled, client: getClientPath(options.client) }
}

function getClientPath (client: ServiceOptions['client']): string | undefined {
  if (client === true) return '/client.js'
  return client === false ? undefined : client
}

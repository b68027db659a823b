import { BadService } from '../errors/errors.ts'
import {
  boolean,
  checkTable,
  fillTable,
  group,
  listNames,
  onlyFalse,
  string,
  valueOrGroup
} from '../define/option-kinds.ts'
import type { Option, OptionKind } from '../define/option-kinds.ts'

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
   * The URI of the OpenAPI document.
   *
   * @default none
   * @example
   * await app.register(service, { description: '/openapi.json' })
   */
  description?: string
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
   * await app.register(service, { health: { ready: '/ready' } })
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
}

type FlatOptions = Omit<ServiceOptions, 'appErrors' | 'client' | 'health' | 'audit'> &
  Required<Pick<ServiceOptions, 'appErrors'>>

export type ServiceSettings = Readonly<FlatOptions> & {
  /** The path of the module of the client; undefined if it is not served. */
  readonly client: string | undefined
  readonly health: {
    readonly live: string | false | undefined
    readonly ready: string | false | undefined
  }
  readonly audit: false | {
    readonly strict: boolean
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

const absoluteUri: OptionKind = {
  kind: 'an absolute URI',
  matches: (value) => typeof value === 'string' && URL.canParse(value)
}

const optionTable = {
  home: path,
  title: string,
  description: string,
  client: pathOrBoolean,
  problems: absoluteUri,
  appErrors: { ...boolean, default: false },
  health: group({
    live: path,
    ready: path
  }),
  audit: valueOrGroup(onlyFalse, group({
    strict: { ...boolean, default: false }
  }))
} satisfies Record<keyof ServiceOptions, Option>

/** All options, with those in groups. docs/service.md is tested against it. */
export const serviceOptionNames: readonly string[] = listNames(optionTable)

/** Where an option belongs that is not one of the service. */
const places: Readonly<Record<string, string>> = {
  documentation: 'Link to it where people look for it; programs use "description". ',
  catalog: 'Its home document lists the collections. ',
  requestTimeout: 'Pass it to Fastify, as in Fastify(serverOptions({ requestTimeout: 10_000 })). ',
  responseTimeout: 'Set a timeout for slow clients in the proxy: see docs/service.md. ',
  maxConcurrentStreams: 'Pass it to Fastify in serverOptions({ http: { settings: { maxConcurrentStreams } } }). '
}

/** Checks the options and adds defaults. */
export function parseOptions ({ ...options }: ServiceOptions): ServiceSettings {
  checkTable(optionTable, options, {
    owner: 'service',
    suggest: (option) => places[option] ?? '',
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

import type { Definition } from '../../engine/collection.ts'
import type { RouteOptions } from '../../engine/definition.ts'
import { isDefinition } from '../../engine/collection.ts'
import { registerOptions } from '../../engine/route-options.ts'
import { BadMcp } from '../../errors/errors.ts'
import { formatValue } from '../../errors/format-value.ts'
import { isObject, isStringArray } from '../../http/json-value.ts'

// The options of the plugin `mcp`, and their checks.

/** The options of the plugin `mcp`. */
export interface McpOptions {
  /** The collections that agents can use, by name. The app serves them, with one `access.authenticate`. */
  collections: readonly Definition[]
  /**
   * The path, below the prefix.
   *
   * @default '/mcp'
   * @example
   * await app.register(mcp, { collections: [orders], path: '/agents' })
   */
  path?: string
  /**
   * Whether each action of each collection is a tool, or seven tools are shared by all collections.
   *
   * @default 'each' for up to 30 tools, otherwise 'shared'
   * @example
   * await app.register(mcp, { collections: [orders, products], tools: 'shared' })
   */
  tools?: 'each' | 'shared'
  /**
   * How many items a page has if the agent requests no other number.
   *
   * @default 20
   * @example
   * await app.register(mcp, { collections: [orders], limit: 5 })
   */
  limit?: number
  /**
   * How many tools a caller can call in a minute, in this process. Anonymous callers are identified by their address.
   *
   * @default 600
   * @example
   * await app.register(mcp, { collections: [orders], callsPerMinute: 60 })
   */
  callsPerMinute?: number
  /**
   * The names of this server in `Host`, and of those whose pages may send requests in `Origin`, without ports. Other
   * requests are 403: a page of another site could reach a server on this machine by a name of its own.
   *
   * @default ['localhost', '127.0.0.1', '[::1]']
   * @example
   * await app.register(mcp, { collections: [orders], hosts: ['api.example.com'] })
   */
  hosts?: readonly string[]
  /**
   * The URLs of the OAuth authorization servers that issue tokens for this server. Clients find them by a 401 and the
   * metadata of RFC 9728, which the app then serves.
   *
   * @default []
   * @example
   * await app.register(mcp, { collections: [orders], authorizationServers: ['https://login.example.com'] })
   */
  authorizationServers?: readonly string[]
  /**
   * Options of the Fastify route, such as hooks, `bodyLimit` or the `config` of a plugin.
   *
   * @default {}
   * @example
   * await app.register(mcp, { collections: [orders], route: { bodyLimit: 100_000 } })
   */
  route?: RouteOptions
}

/** The options with their defaults. */
export type McpSettings = Required<Omit<McpOptions, 'tools'>> & Pick<McpOptions, 'tools'>

const optionNames = [
  'collections', 'path', 'tools', 'limit', 'callsPerMinute', 'hosts', 'authorizationServers', 'route'
]
const pathPattern = /^(?:\/[\w~-][\w.~-]*)+$/
const hostPattern = /^(?:[\w.-]+|\[[\da-fA-F:.]+\])$/

/** Checks the options and adds the defaults. */
export function readOptions (options: McpOptions): McpSettings {
  checkNames(options)
  const { collections, tools } = options
  const settings = {
    path: '/mcp',
    limit: 20,
    callsPerMinute: 600,
    hosts: ['localhost', '127.0.0.1', '[::1]'],
    authorizationServers: [],
    route: {},
    ...options
  }
  const { path, limit, callsPerMinute, hosts, authorizationServers, route } = settings
  const areDefinitions = Array.isArray(collections) && collections.length > 0 && collections.every(isDefinition)
  const arrayOfDefinitions = 'an array of what define() returns, as in { collections: [orders, products] }'
  check('collections', collections, { isValid: areDefinitions, expected: arrayOfDefinitions })
  const isPath = typeof path === 'string' && pathPattern.test(path)
  check('path', path, { isValid: isPath, expected: 'a path such as "/mcp"' })
  const isKind = tools === undefined || tools === 'each' || tools === 'shared'
  check('tools', tools, { isValid: isKind, expected: '"each" or "shared"' })
  for (const [option, value] of Object.entries({ limit, callsPerMinute })) {
    const isCount = Number.isSafeInteger(value) && value >= 1
    check(option, value, { isValid: isCount, expected: 'a whole number of 1 or more' })
  }
  const areHosts = isStringArray(hosts) && hosts.every((host) => hostPattern.test(host))
  const arrayOfHosts = 'an array of host names without schemes and ports, such as ["api.example.com"]'
  check('hosts', hosts, { isValid: areHosts, expected: arrayOfHosts })
  const areUrls = isStringArray(authorizationServers) && authorizationServers.every((url) => URL.canParse(url))
  const arrayOfUrls = 'an array of URLs, such as ["https://login.example.com"]'
  check('authorizationServers', authorizationServers, { isValid: areUrls, expected: arrayOfUrls })
  check('route', route, { isValid: isObject(route), expected: 'an object with options of a Fastify route' })
  return settings
}

function checkNames (options: object): void {
  const unknown = Object.keys(options).find((name) => ![...optionNames, ...registerOptions].includes(name))
  if (unknown === undefined) return
  throw new BadMcp(`mcp has no option "${unknown}". Available options: ${optionNames.join(', ')}.`)
}

interface Expected {
  readonly isValid: boolean
  readonly expected: string
}

function check (option: string, value: unknown, { isValid, expected }: Expected): void {
  if (!isValid) throw new BadMcp(`${option} is ${formatValue(value)}. Make it ${expected}.`)
}

import { filterCount, getDialect, own, type Dialect } from './dialects.ts'
import { drawPopular } from './popularity.ts'
import { seedId } from './user.ts'

/** What a connection of the driver knows before its first request. */
interface Known {
  readonly number: number
  /** The number of connections. */
  readonly connections: number
  /** The number of items. */
  readonly items: number
  /** Added to its items to make them larger. */
  readonly padding: string
  /** Grows from one round to the next, so that their requests differ. */
  turn: number
}

/** The state of one connection of the driver, with values of the last response. */
export interface Client extends Known {
  /** The pages that it has walked last. */
  readonly paths: string[]
  /** The entity tags of its own items. */
  readonly tags: Map<number, string>
  tag: string
  id: string
  location: string
  next: string
}

export function createClient (known: Known): Client {
  return { ...known, paths: [], tags: new Map(), tag: '', id: '', location: '', next: '' }
}

export interface Step {
  /** Expected statuses; any other one ends the run. */
  readonly status: readonly number[]
  /** Whether ETag, Location, Link and id of the response are needed by the next step. */
  readonly learn?: boolean
  readonly request: (client: Client) => string
}

export interface Scenario {
  readonly steps: readonly Step[]
  /** Done by each connection, not measured, until `isPrepared`. */
  readonly prepare?: Step & { readonly isPrepared: (client: Client) => boolean }
  /** Compared with another scenario of the same contestant. */
  readonly against?: string
}

const head = 'Host: 127.0.0.1\r\nAccept: application/json\r\n'

function format (method: string, path: string, fields = '') {
  return `${method} ${path} HTTP/1.1\r\n${head}${fields}\r\n`
}

function formatWithContent (
  method: string,
  path: string,
  { content, fields = '', type = 'application/json' }: { content: string; fields?: string; type?: string }
) {
  return `${method} ${path} HTTP/1.1\r\n${head}${fields}Content-Type: ${type}\r\nContent-Length: ${content.length}\r\n\r\n${content}`
}

let serial = 0
const batchLength = 10
/** One of so many requests for lists is a write. */
export const requestsPerWrite = 20
/** How many pages `client.paths` has at most. */
const pathCount = 20
/** Which filter each request has: the second one half as often as the first, the third one a third as often. */
const popularFilters = drawPopular(filterCount, 4096)
/** Connections are at different places. */
const getFilter = ({ number, turn }: Client) => popularFilters[(number * 61 + turn) % popularFilters.length]!
const user = (email: string, padding = '', name = 'A changed name') =>
  `{"email":"${email}@example.com","name":"${name}${padding}","password":"correct horse battery staple"}`
const ifMatch = (client: Client) => (client.tag === '' ? '' : `If-Match: ${client.tag}\r\n`)
export const buildInvalid = (number: number) => `{"email":"not an address ${number}","name":"","password":"secret"}`

/** How many items a connection writes. No other connection does, so no write gets 412. */
const countOwn = ({ items, connections }: Client) => Math.floor(items / connections)
/** The number of an item of this connection, one after another. */
const getOwn = (client: Client, turn = client.turn) => client.number + client.connections * (turn % countOwn(client))

/** RFC 8288: the target of the link to the next page. */
export function getNext (link: string) {
  return /<([^>]*)>; *rel="?next/.exec(link)?.[1] ?? ''
}

/** Articles of bench/relations.ts, in the order of their ids. */
const buildRelated = (filter: number) =>
  `/articles?limit=20&id.gte=${1 + 4 * filter}&expand=author,comments&expand.comments.limit=5`

/** The requests of the scenarios; those without values of the last response are built once. */
function createSteps ({ collection, item, list, filtered, missing, patch, ...status }: Dialect) {
  const gets = Array.from({ length: 1000 }, (_, number) => format('GET', item(seedId(number))))
  const formatLists = (build: (filter: number) => string) =>
    Array.from({ length: filterCount }, (_, filter) => format('GET', build(filter)))
  const [pages, pagesFiltered, pagesRelated] = [list, filtered, buildRelated].map(formatLists)
  const mine = (client: Client) => item(seedId(getOwn(client)))
  /** Changes one of its items, whose place in the lists stays almost the same. */
  function writeListed (client: Client) {
    const number = getOwn(client, Math.floor(client.turn / requestsPerWrite))
    const content = user(`user${number}`, client.padding, `User number ${number} v${serial++}`)
    return formatWithContent('PUT', item(seedId(number)), { content })
  }
  const isWrite = ({ number, turn }: Client) => (number + turn) % requestsPerWrite === requestsPerWrite - 1
  const mixed = (lists: readonly string[]): Step => ({
    status: [200],
    request: (client) => (isWrite(client) ? writeListed(client) : lists[getFilter(client)]!)
  })
  return {
    get: { status: [200], request: (client) => gets[(client.number * 17 + client.turn) % gets.length]! },
    /** Items from all over the collection. */
    getAny: {
      status: [200],
      request: (client) => format('GET', item(seedId((client.number * 17 + client.turn * 7919) % client.items)))
    },
    getOwn: { status: [200], learn: true, request: (client) => format('GET', mine(client)) },
    getKnown: {
      status: [304],
      request: (client) => format('GET', mine(client), `If-None-Match: ${client.tags.get(getOwn(client))}\r\n`)
    },
    getMissing: { status: [404], request: (client) => format('GET', missing(client.number * 1000 + client.turn)) },
    list: mixed(pages!),
    listFiltered: mixed(pagesFiltered!),
    listNext: {
      status: [200],
      learn: true,
      request: (client) => {
        client.paths.push(client.next === '' ? '/users?limit=20' : client.next)
        if (client.paths.length > pathCount) client.paths.shift()
        return format('GET', client.paths.at(-1)!)
      }
    },
    listAgain: { status: [200], request: ({ paths, turn }) => format('GET', paths[turn % paths.length]!) },
    create: {
      status: [status.created],
      request: (client) => formatWithContent('POST', collection, { content: user(`new${serial++}`, client.padding) })
    },
    /** Ten creates in one request. */
    batch: {
      status: [200],
      request: (client) => {
        const parts = Array.from({ length: batchLength }, () => {
          return `{"method":"POST","path":"${collection}","content":${user(`new${serial++}`, client.padding)}}`
        })
        return formatWithContent('POST', '/batch', { content: `[${parts.join()}]` })
      }
    },
    /** Articles, each with its author and 5 comments. */
    listRelated: { status: [200], request: (client) => pagesRelated![getFilter(client)]! },
    createInvalid: {
      status: [status.invalid],
      request: ({ number, turn }) =>
        formatWithContent('POST', collection, { content: buildInvalid(number * 1000 + turn) })
    },
    replace: {
      status: [200],
      request: (client) => {
        const content = user(`user${getOwn(client)}`, '', `A changed name ${client.turn}`)
        return formatWithContent('PUT', mine(client), { content, fields: ifMatch(client) })
      }
    },
    patch: {
      status: [200],
      request: (client) =>
        formatWithContent(patch.method, mine(client), { content: `{"name":"Name ${client.turn}"}`, type: patch.type })
    },
    rename: {
      status: [200],
      request: (client) =>
        formatWithContent('POST', `${mine(client)}/rename`, { content: `{"name":"Name ${client.turn}"}` })
    },
    remove: {
      status: [status.removed],
      request: (client) => format('DELETE', client.location === '' ? item(client.id) : client.location)
    }
  } satisfies Record<string, Step>
}

/** Only the setup `action` and the contestant `features` have it. */
const customAction = 'custom action'

/** Only the setup `batch` has it. */
export const batched = 'batch of 10 creates'
export const single = '10 creates'

/** Only the contestants of bench/relations.ts have it. */
export const relatedList = 'list with related items'

/** One row per scenario; a turn is all of its steps. */
export function createScenarios (dialect: Dialect): Record<string, Scenario> {
  const step = createSteps(dialect)
  return {
    get: { steps: [step.get] },
    'get 304': {
      prepare: {
        ...step.getOwn,
        isPrepared (client) {
          client.tags.set(getOwn(client), client.tag)
          client.turn++
          return client.tags.size === countOwn(client)
        }
      },
      steps: [step.getKnown],
      against: 'get'
    },
    list: { steps: [step.list] },
    'list filtered': { steps: [step.listFiltered] },
    create: { steps: [step.create] },
    'get and replace': { steps: [step.getOwn, step.replace] },
    patch: { steps: [step.patch] },
    'create and delete': { steps: [{ ...step.create, learn: true }, step.remove] },
    'create 422': { steps: [step.createInvalid] },
    'get 404': { steps: [step.getMissing] },
    [customAction]: { steps: [step.rename] },
    [single]: { steps: Array.from({ length: batchLength }, () => step.create) },
    [batched]: { steps: [step.batch], against: single },
    [relatedList]: { steps: [step.listRelated] }
  }
}

export const scenarios = createScenarios(own)

/** Those that every contestant can have. */
export const commonScenarios = Object.keys(scenarios).filter((name) => (
  ![customAction, single, batched, relatedList].includes(name)
))

const known = new Map<string, Record<string, Scenario>>()

/** The scenario in the dialect of the contestant; undefined if it is not supported. */
export function getScenario (contestant: string, scenario: string): Scenario | undefined {
  const dialect = getDialect(contestant)
  const all = known.get(contestant) ?? createScenarios(dialect)
  known.set(contestant, all)
  return dialect.lacks.includes(scenario) ? undefined : all[scenario]
}

const step = createSteps(own)

/** The walk to them is long. */
export const lastPages = 'last pages'

/** Of bench/growth.ts: scenarios that could depend on the number of items. */
export const depths: Record<string, Scenario> = {
  'first pages': {
    prepare: { ...step.listNext, isPrepared: ({ paths, next }) => next === '' || paths.length === pathCount },
    steps: [step.listAgain]
  },
  [lastPages]: { prepare: { ...step.listNext, isPrepared: ({ next }) => next === '' }, steps: [step.listAgain] },
  get: { steps: [step.getAny] },
  insert: { steps: [step.create] }
}

import { getDialect, own, type Dialect } from './dialects.ts'
import { seedId } from './user.ts'

/** The state of one connection of the driver, with values of the last response. */
export interface Client {
  readonly number: number
  /** The number of items. */
  readonly items: number
  /** Added to its items to make them larger. */
  readonly padding: string
  turn: number
  path: string
  tag: string
  id: string
  location: string
  next: string
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
  /** Done once per connection, not measured; `follow` repeats it to the last page. */
  readonly prepare?: Step & { readonly follow?: boolean }
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
const user = (email: string, padding = '') =>
  `{"email":"${email}@example.com","name":"A changed name${padding}","password":"correct horse battery staple"}`
const ifMatch = (client: Client) => (client.tag === '' ? '' : `If-Match: ${client.tag}\r\n`)
export const invalid = '{"email":"not an address","name":"","password":"secret"}'

/** RFC 8288: the target of the link to the next page. */
export function getNext (link: string) {
  return /<([^>]*)>; *rel="?next/.exec(link)?.[1] ?? ''
}

/** The requests of the scenarios; constant requests are built once. */
function createSteps ({ collection, item, list, filtered, missing, patch, ...status }: Dialect) {
  const gets = Array.from({ length: 1000 }, (_, number) => format('GET', item(seedId(number))))
  const [pageOne, pageRelated, pageFiltered, nothing, wrong] = [
    format('GET', list),
    format('GET', '/articles?limit=20&expand=author,comments&expand.comments.limit=5'),
    format('GET', filtered),
    format('GET', missing),
    formatWithContent('POST', collection, { content: invalid })
  ]
  const mine = (client: Client) => item(seedId(client.number))
  return {
    get: { status: [200], request: (client) => gets[(client.number * 17 + client.turn) % gets.length]! },
    /** Items from all over the collection. */
    getAny: {
      status: [200],
      request: (client) => format('GET', item(seedId((client.number * 17 + client.turn * 7919) % client.items)))
    },
    getOwn: { status: [200], learn: true, request: (client) => format('GET', mine(client)) },
    getKnown: { status: [304], request: (client) => format('GET', mine(client), `If-None-Match: ${client.tag}\r\n`) },
    getMissing: { status: [404], request: () => nothing },
    list: { status: [200], request: () => pageOne },
    listFiltered: { status: [200], request: () => pageFiltered },
    listNext: {
      status: [200],
      learn: true,
      request: (client) => {
        client.path = client.next === '' ? list : client.next
        return format('GET', client.path)
      }
    },
    listAgain: { status: [200], request: (client) => format('GET', client.path) },
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
    listRelated: { status: [200], request: () => pageRelated },
    createInvalid: { status: [status.invalid], request: () => wrong },
    replace: {
      status: [200],
      request: (client) =>
        formatWithContent('PUT', mine(client), { content: user(`user${client.number}`), fields: ifMatch(client) })
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
    'get 304': { prepare: step.getOwn, steps: [step.getKnown], against: 'get' },
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

/** Of bench/growth.ts: scenarios that could depend on the number of items. */
export const depths: Record<string, Scenario> = {
  'page 1': { steps: [step.list] },
  'last page': { prepare: { ...step.listNext, follow: true }, steps: [step.listAgain] },
  get: { steps: [step.getAny] },
  insert: { steps: [step.create] }
}

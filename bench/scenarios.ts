import { seedId } from './user.ts'

/** What one connection of the driver knows and has learned from the last answer. */
export interface Client {
  readonly number: number
  /** How many items there are. */
  readonly items: number
  turn: number
  path: string
  tag: string
  location: string
  next: string
}

export interface Step {
  /** Any of these is right; another one ends the run. */
  readonly status: readonly number[]
  /** Whether ETag, Location and Link of the answer are needed by the next step. */
  readonly learn?: boolean
  readonly request: (client: Client) => string
}

export interface Scenario {
  readonly steps: readonly Step[]
  /** Done once per connection, not measured; `follow` repeats it to the last page. */
  readonly prepare?: Step & { readonly follow?: boolean }
  /** Contestants and storages without this feature. */
  readonly lacks?: readonly string[]
  /** Compared with another scenario of the same contestant. */
  readonly against?: string
}

const head = 'Host: 127.0.0.1\r\nAccept: application/json\r\n'

function bare (method: string, path: string, fields = '') {
  return `${method} ${path} HTTP/1.1\r\n${head}${fields}\r\n`
}

function filled (method: string, path: string, { content, fields = '', type = 'application/json' }: { content: string, fields?: string, type?: string }) {
  return `${method} ${path} HTTP/1.1\r\n${head}${fields}Content-Type: ${type}\r\nContent-Length: ${content.length}\r\n\r\n${content}`
}

let serial = 0
const gets = Array.from({ length: 1000 }, (_, number) => bare('GET', `/users/${seedId(number)}`))
/** Items from all over the collection. */
const scattered = (client: Client) => bare('GET', `/users/${seedId((client.number * 17 + client.turn * 7919) % client.items)}`)
/** What all connections ask alike. */
export const fixed = {
  list: '/users?limit=20',
  filtered: '/users?limit=20&name.lt=User%20number%2095&sort=-email',
  missing: '/users/01800000-0000-7000-9000-000000000000',
  invalid: '{"email":"not an address","name":"","password":"secret"}'
}
const pageOne = bare('GET', fixed.list)
const pageFiltered = bare('GET', fixed.filtered)
const missing = bare('GET', fixed.missing)
const wrong = filled('POST', '/users', { content: fixed.invalid })
const own = (client: Client) => `/users/${seedId(client.number)}`
const user = (email: string) => `{"email":"${email}@example.com","name":"A changed name","password":"correct horse battery staple"}`
const ifMatch = (client: Client) => client.tag === '' ? '' : `If-Match: ${client.tag}\r\n`

const get: Step = { status: [200], request: client => gets[(client.number * 17 + client.turn) % gets.length]! }
const list: Step = { status: [200], request: () => pageOne }
const create: Step = { status: [201], request: () => filled('POST', '/users', { content: user(`new${serial++}`) }) }
const readOwn: Step = { status: [200], learn: true, request: client => bare('GET', own(client)) }

/** RFC 8288: the target of the link to the next page. */
export function nextOf (link: string) {
  return /<([^>]*)>; *rel="?next/.exec(link)?.[1] ?? ''
}

/** One row per scenario; a turn is all of its steps. */
export const scenarios: Record<string, Scenario> = {
  get: { steps: [get] },
  'get 304': {
    prepare: readOwn,
    steps: [{ status: [304], request: client => bare('GET', own(client), `If-None-Match: ${client.tag}\r\n`) }],
    lacks: ['plain'],
    against: 'get'
  },
  list: { steps: [list] },
  'list filtered': { steps: [{ status: [200], request: () => pageFiltered }], lacks: ['map'] },
  create: { steps: [create] },
  'get and replace': {
    steps: [readOwn, {
      status: [200],
      request: client => filled('PUT', own(client), { content: user(`user${client.number}`), fields: ifMatch(client) })
    }]
  },
  patch: {
    steps: [{
      status: [200],
      request: client => filled('PATCH', own(client), { content: `{"name":"Name ${client.turn}"}`, type: 'application/merge-patch+json' })
    }]
  },
  'create and delete': {
    steps: [{ ...create, learn: true }, { status: [204], request: client => bare('DELETE', client.location) }]
  },
  'create 422': { steps: [{ status: [422, 400], request: () => wrong }] },
  'get 404': { steps: [{ status: [404], request: () => missing }] }
}

/** Of bench/growth.ts: what could depend on how many items there are. */
export const depths: Record<string, Scenario> = {
  'page 1': { steps: [list] },
  'last page': {
    prepare: {
      status: [200],
      learn: true,
      follow: true,
      request: client => {
        client.path = client.next === '' ? fixed.list : client.next
        return bare('GET', client.path)
      }
    },
    steps: [{ status: [200], request: client => bare('GET', client.path) }]
  },
  get: { steps: [{ status: [200], request: scattered }] },
  insert: { steps: [create] }
}

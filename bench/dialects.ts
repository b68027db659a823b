/** The URLs and the statuses of a contestant. */
export interface Dialect {
  /** The URL that creates items. */
  readonly collection: string
  readonly item: (id: string) => string
  /** The first 20 items of one of the filters. */
  readonly list: (filter: number) => string
  /** The same of another filter, sorted by another property. */
  readonly filtered: (filter: number) => string
  /** An item that does not exist. */
  readonly missing: (number: number) => string
  readonly patch: { readonly method: string; readonly type: string }
  readonly created: number
  readonly removed: number
  readonly invalid: number
  /** Scenarios that it does not support. */
  readonly lacks: readonly string[]
}

/** How many filters the lists have. */
export const filterCount = 200

/** More than 700 of 1000 items are from this name on, and the storage finds 20 of them among the first 45. */
const from = (filter: number) => `User%20number%20${100 + filter}`
/** The 20 last email addresses of the names before this one are among the last 230. */
const before = (filter: number) => `User%20number%20${999 - filter}`
const missingId = (number: number) => `01800000-0000-7000-9000-${number.toString(16).padStart(12, '0')}`

/** Of the library and of the hand-written contestants. */
export const own: Dialect = {
  collection: '/users',
  item: (id) => `/users/${id}`,
  list: (filter) => `/users?limit=20&name.gte=${from(filter)}`,
  filtered: (filter) => `/users?limit=20&name.lt=${before(filter)}&sort=-email`,
  missing: (number) => `/users/${missingId(number)}`,
  patch: { method: 'PATCH', type: 'application/merge-patch+json' },
  created: 201,
  removed: 204,
  invalid: 422,
  lacks: []
}

const json = 'application/json'

const others: Record<string, Partial<Dialect>> = {
  plain: { invalid: 400, lacks: ['get 304'] },
  feathers: {
    list: (filter) => `/users?$limit=20&name[$gte]=${from(filter)}`,
    filtered: (filter) => `/users?$limit=20&name[$lt]=${before(filter)}&$sort[email]=-1`,
    patch: { method: 'PATCH', type: json },
    removed: 200,
    invalid: 400,
    lacks: ['get 304']
  },
  nest: {
    list: (filter) => `/users?limit=20&filter=name%7C%7C$gte%7C%7C${from(filter)}`,
    filtered: (filter) => `/users?limit=20&filter=name%7C%7C$lt%7C%7C${before(filter)}&sort=email,DESC`,
    patch: { method: 'PATCH', type: json },
    removed: 200,
    invalid: 400,
    lacks: ['get 304']
  },
  remult: {
    collection: '/api/users',
    item: (id) => `/api/users/${id}`,
    list: (filter) => `/api/users?_limit=20&name.gte=${from(filter)}`,
    filtered: (filter) => `/api/users?_limit=20&name.lt=${before(filter)}&_sort=email&_order=desc`,
    missing: (number) => `/api/users/${missingId(number)}`,
    // Its PUT changes the properties that are sent.
    patch: { method: 'PUT', type: json },
    invalid: 400,
    lacks: ['get 304']
  },
  'json-server': {
    list: (filter) => `/users?_limit=20&name_gte=${from(filter)}`,
    // It does not support "less than".
    filtered: (filter) => `/users?_limit=20&name_lte=${before(filter)}&_sort=email&_order=desc`,
    patch: { method: 'PATCH', type: json },
    removed: 200,
    lacks: ['create 422']
  },
  platformatic: {
    // Its keys are numbers, which the database generates.
    item: (id) => `/users/${/^\d+$/.test(id) ? id : Number.parseInt(id.slice(-12), 16) + 1}`,
    missing: (number) => `/users/${999_999_999 - number}`,
    list: (filter) => `/users?limit=20&where.name.gte=${from(filter)}`,
    filtered: (filter) => `/users?limit=20&where.name.lt=${before(filter)}&orderby.email=desc`,
    created: 200,
    removed: 200,
    // It checks required properties, but no formats.
    lacks: ['get 304', 'patch', 'create 422']
  }
}

export function getDialect (contestant: string): Dialect {
  return { ...own, ...others[contestant] }
}

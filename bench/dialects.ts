/** The URLs and the statuses of a contestant. */
export interface Dialect {
  /** The URL that creates items. */
  readonly collection: string
  readonly item: (id: string) => string
  readonly list: string
  readonly filtered: string
  readonly missing: string
  readonly patch: { readonly method: string; readonly type: string }
  readonly created: number
  readonly removed: number
  readonly invalid: number
  /** Scenarios that it does not support. */
  readonly lacks: readonly string[]
}

const missingId = '01800000-0000-7000-9000-000000000000'

/** Of the library and of the hand-written contestants. */
export const own: Dialect = {
  collection: '/users',
  item: (id) => `/users/${id}`,
  list: '/users?limit=20',
  filtered: '/users?limit=20&name.lt=User%20number%2095&sort=-email',
  missing: `/users/${missingId}`,
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
    list: '/users?$limit=20',
    filtered: '/users?$limit=20&name[$lt]=User%20number%2095&$sort[email]=-1',
    patch: { method: 'PATCH', type: json },
    removed: 200,
    invalid: 400,
    lacks: ['get 304']
  },
  nest: {
    filtered: '/users?limit=20&filter=name%7C%7C$lt%7C%7CUser%20number%2095&sort=email,DESC',
    patch: { method: 'PATCH', type: json },
    removed: 200,
    invalid: 400,
    lacks: ['get 304']
  },
  remult: {
    collection: '/api/users',
    item: (id) => `/api/users/${id}`,
    list: '/api/users?_limit=20',
    filtered: '/api/users?_limit=20&name.lt=User%20number%2095&_sort=email&_order=desc',
    missing: `/api/users/${missingId}`,
    // Its PUT changes the properties that are sent.
    patch: { method: 'PUT', type: json },
    invalid: 400,
    lacks: ['get 304']
  },
  'json-server': {
    list: '/users?_limit=20',
    // It does not support "less than".
    filtered: '/users?_limit=20&name_lte=User%20number%2095&_sort=email&_order=desc',
    patch: { method: 'PATCH', type: json },
    removed: 200,
    lacks: ['create 422']
  },
  platformatic: {
    // Its keys are numbers, which the database generates.
    item: (id) => `/users/${/^\d+$/.test(id) ? id : Number.parseInt(id.slice(-12), 16) + 1}`,
    missing: '/users/999999999',
    filtered: '/users?limit=20&where.name.lt=User%20number%2095&orderby.email=desc',
    created: 200,
    removed: 200,
    // It checks required properties, but no formats.
    lacks: ['get 304', 'patch', 'create 422']
  }
}

export function getDialect (contestant: string): Dialect {
  return { ...own, ...others[contestant] }
}

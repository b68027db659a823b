/** What a contestant is asked where, and what it answers. */
export interface Dialect {
  /** Where new items are posted to. */
  readonly collection: string
  readonly item: (id: string) => string
  readonly list: string
  readonly filtered: string
  readonly missing: string
  readonly patch: { readonly method: string; readonly type: string }
  readonly created: number
  readonly removed: number
  readonly invalid: number
  /** Scenarios for which it has nothing. */
  readonly lacks: readonly string[]
}

const nobody = '01800000-0000-7000-9000-000000000000'

/** Of the library, and of those that are measured against it by hand. */
export const own: Dialect = {
  collection: '/users',
  item: (id) => `/users/${id}`,
  list: '/users?limit=20',
  filtered: '/users?limit=20&name.lt=User%20number%2095&sort=-email',
  missing: `/users/${nobody}`,
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
    missing: `/api/users/${nobody}`,
    // Its PUT changes the properties that are sent.
    patch: { method: 'PUT', type: json },
    invalid: 400,
    lacks: ['get 304']
  },
  'json-server': {
    list: '/users?_limit=20',
    // It knows no "less than".
    filtered: '/users?_limit=20&name_lte=User%20number%2095&_sort=email&_order=desc',
    patch: { method: 'PATCH', type: json },
    removed: 200,
    lacks: ['create 422']
  },
  platformatic: {
    // Its keys are numbers, which the database makes.
    item: (id) => `/users/${/^\d+$/.test(id) ? id : Number.parseInt(id.slice(-12), 16) + 1}`,
    missing: '/users/999999999',
    filtered: '/users?limit=20&where.name.lt=User%20number%2095&orderby.email=desc',
    created: 200,
    removed: 200,
    // It knows which properties are required, but no formats.
    lacks: ['get 304', 'patch', 'create 422']
  }
}

export function dialectOf (contestant: string): Dialect {
  return { ...own, ...others[contestant] }
}

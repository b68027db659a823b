import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { define } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { relate } from '../../lib/relations/relate.ts'

// A business that rents films: 15 tables with about 52,000 rows, the same at every run.

const Key = Type.Integer()
const OptionalKey = Type.Union([Type.Integer(), Type.Null()])
const Name = Type.String({ maxLength: 60 })
const Time = Type.String({ format: 'date-time' })

const schemas = {
  countries: Type.Object({ id: Key, name: Name }),
  cities: Type.Object({ id: Key, name: Name, countryId: Key }),
  addresses: Type.Object({ id: Key, street: Name, cityId: Key }),
  stores: Type.Object({ id: Key, name: Name, addressId: Key, managerId: Key }),
  staff: Type.Object({ id: Key, name: Name, storeId: Key, managerId: OptionalKey }),
  customers: Type.Object({ id: Key, name: Name, storeId: Key, addressId: Key, active: Type.Boolean() }),
  categories: Type.Object({ id: Key, name: Name, parentId: OptionalKey }),
  languages: Type.Object({ id: Key, name: Name }),
  films: Type.Object({
    id: Key,
    title: Name,
    rating: Type.String({ maxLength: 5 }),
    length: Type.Integer(),
    languageId: Key,
    originalLanguageId: OptionalKey,
    prequelId: OptionalKey
  }),
  actors: Type.Object({ id: Key, name: Name }),
  filmActors: Type.Object({ id: Key, filmId: Key, actorId: Key }),
  filmCategories: Type.Object({ id: Key, filmId: Key, categoryId: Key }),
  inventory: Type.Object({ id: Key, filmId: Key, storeId: Key }),
  rentals: Type.Object({
    id: Key,
    rentedAt: Time,
    returnedAt: Type.Union([Time, Type.Null()]),
    inventoryId: Key,
    customerId: Key,
    staffId: Key
  }),
  payments: Type.Object({ id: Key, rentalId: Key, customerId: Key, amount: Type.Integer(), paidAt: Time })
}

export type TableName = keyof typeof schemas
export type Rows = { readonly [Name in TableName]: ReadonlyArray<Static<(typeof schemas)[Name]>> }

export const tableNames = Object.keys(schemas) as TableName[]

/** The properties that relations compare. */
export function getKeys (name: TableName): string[] {
  return Object.keys(schemas[name].properties).filter((property) => property.endsWith('Id'))
}

export function getProperties (name: TableName): string[] {
  return Object.keys(schemas[name].properties)
}

/** Opens the storage of a table. */
type OpenStorage = (name: TableName) => <Item extends object>(shape: Shape) => Storage<Item>

/** The definitions, related to each other. */
export function defineRental (open: OpenStorage): Readonly<Record<TableName, Definition>> {
  const common = (name: TableName) => ({
    storage: open(name),
    id: { generate: 'storage' },
    list: { limit: { default: 50, maximum: 500 } }
  } as const)
  return relate({
    countries: define({ ...common('countries'), name: 'countries', schema: schemas.countries }),
    cities: define({ ...common('cities'), name: 'cities', schema: schemas.cities }),
    addresses: define({ ...common('addresses'), name: 'addresses', schema: schemas.addresses }),
    stores: define({ ...common('stores'), name: 'stores', schema: schemas.stores }),
    staff: define({ ...common('staff'), name: 'staff', schema: schemas.staff }),
    customers: define({ ...common('customers'), name: 'customers', schema: schemas.customers }),
    categories: define({ ...common('categories'), name: 'categories', schema: schemas.categories }),
    languages: define({ ...common('languages'), name: 'languages', schema: schemas.languages }),
    films: define({ ...common('films'), name: 'films', schema: schemas.films }),
    actors: define({ ...common('actors'), name: 'actors', schema: schemas.actors }),
    filmActors: define({ ...common('filmActors'), name: 'filmActors', schema: schemas.filmActors }),
    filmCategories: define({ ...common('filmCategories'), name: 'filmCategories', schema: schemas.filmCategories }),
    inventory: define({ ...common('inventory'), name: 'inventory', schema: schemas.inventory }),
    rentals: define({ ...common('rentals'), name: 'rentals', schema: schemas.rentals }),
    payments: define({ ...common('payments'), name: 'payments', schema: schemas.payments })
  }, {
    countries: { cities: { to: 'cities', by: 'countryId' } },
    cities: {
      country: { to: 'countries', property: 'countryId' },
      addresses: { to: 'addresses', by: 'cityId' }
    },
    addresses: {
      city: { to: 'cities', property: 'cityId' },
      customers: { to: 'customers', by: 'addressId' }
    },
    stores: {
      address: { to: 'addresses', property: 'addressId' },
      manager: { to: 'staff', property: 'managerId' },
      staff: { to: 'staff', by: 'storeId' },
      customers: { to: 'customers', by: 'storeId' },
      inventory: { to: 'inventory', by: 'storeId' }
    },
    staff: {
      store: { to: 'stores', property: 'storeId' },
      manager: { to: 'staff', property: 'managerId' },
      reports: { to: 'staff', by: 'managerId' },
      rentals: { to: 'rentals', by: 'staffId' }
    },
    customers: {
      store: { to: 'stores', property: 'storeId' },
      address: { to: 'addresses', property: 'addressId' },
      rentals: { to: 'rentals', by: 'customerId' },
      payments: { to: 'payments', by: 'customerId' }
    },
    categories: {
      parent: { to: 'categories', property: 'parentId' },
      children: { to: 'categories', by: 'parentId' },
      filmCategories: { to: 'filmCategories', by: 'categoryId' }
    },
    languages: {
      films: { to: 'films', by: 'languageId' },
      originalFilms: { to: 'films', by: 'originalLanguageId' }
    },
    films: {
      language: { to: 'languages', property: 'languageId' },
      originalLanguage: { to: 'languages', property: 'originalLanguageId' },
      prequel: { to: 'films', property: 'prequelId' },
      sequels: { to: 'films', by: 'prequelId' },
      filmActors: { to: 'filmActors', by: 'filmId' },
      filmCategories: { to: 'filmCategories', by: 'filmId' },
      inventory: { to: 'inventory', by: 'filmId' }
    },
    actors: { filmActors: { to: 'filmActors', by: 'actorId' } },
    filmActors: {
      film: { to: 'films', property: 'filmId' },
      actor: { to: 'actors', property: 'actorId' }
    },
    filmCategories: {
      film: { to: 'films', property: 'filmId' },
      category: { to: 'categories', property: 'categoryId' }
    },
    inventory: {
      film: { to: 'films', property: 'filmId' },
      store: { to: 'stores', property: 'storeId' },
      rentals: { to: 'rentals', by: 'inventoryId' }
    },
    rentals: {
      inventory: { to: 'inventory', property: 'inventoryId' },
      customer: { to: 'customers', property: 'customerId' },
      staff: { to: 'staff', property: 'staffId' },
      payments: { to: 'payments', by: 'rentalId' }
    },
    payments: {
      rental: { to: 'rentals', property: 'rentalId' },
      customer: { to: 'customers', property: 'customerId' }
    }
  })
}

/** Numbers that look random and are the same at every run. */
function createRandom (): (below: number) => number {
  let seed = 20_260_101
  return (below) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
}

function createRows<Row> (count: number, create: (id: number) => Row): Row[] {
  return Array.from({ length: count }, (_, index) => create(index + 1))
}

const syllables = ['al', 'be', 'cor', 'da', 'el', 'fin', 'gor', 'hal', 'is', 'jo', 'ka', 'lu', 'mi', 'nor', 'os', 'pa']

/** Some months have rows in their first and their last millisecond. */
const edges = [
  '2026-01-31T23:59:59.999Z',
  '2026-02-01T00:00:00.000Z',
  '2026-02-28T23:59:59.999Z',
  '2026-03-01T00:00:00.000Z',
  '2026-03-31T23:59:59.999Z',
  '2026-12-31T23:59:59.999Z'
]

export function generateRows (): Rows {
  const random = createRandom()
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)]!
  const createName = (id: number): string => {
    const text = pick(syllables) + pick(syllables) + pick(syllables)
    return `${text[0]!.toUpperCase()}${text.slice(1)} ${id % 40}`
  }
  const createTime = (): string => {
    return random(60) === 0 ? pick(edges) : new Date(Date.UTC(2026, 0, 1) + random(31_536_000) * 1000).toISOString()
  }
  const addDays = (time: string): string => new Date(Date.parse(time) + (1 + random(10)) * 86_400_000).toISOString()
  // The last ones of these have no rows that refer to them.
  const [countries, cities, addresses] = [30, 200, 2000]
  const [customers, films, actors, inventory] = [1500, 1000, 200, 4500]
  const rentals = createRows(18_500, (id) => {
    const rentedAt = createTime()
    return {
      id,
      rentedAt,
      returnedAt: random(20) === 0 ? null : addDays(rentedAt),
      inventoryId: 1 + random(inventory - 300),
      customerId: 1 + random(customers - 40),
      staffId: 1 + random(30)
    }
  })
  return {
    countries: createRows(countries, (id) => ({ id, name: `Country ${id}` })),
    cities: createRows(cities, (id) => ({ id, name: createName(id), countryId: 1 + random(countries - 3) })),
    addresses: createRows(addresses, (id) => ({
      id,
      street: createName(id),
      cityId: id > addresses - 100 ? cities - random(10) : 1 + random(cities - 20)
    })),
    stores: createRows(6, (id) => ({ id, name: `Store ${id}`, addressId: id * 7, managerId: id })),
    staff: createRows(40, (id) => ({
      id,
      name: createName(id),
      storeId: 1 + (id % 6),
      managerId: id <= 2 ? null : 1 + random(Math.ceil(id / 3))
    })),
    customers: createRows(customers, (id) => ({
      id,
      name: createName(id),
      storeId: 1 + random(5),
      addressId: 1 + random(addresses - 100),
      active: random(8) !== 0
    })),
    categories: createRows(16, (id) => ({ id, name: `Category ${id}`, parentId: id <= 3 ? null : 1 + random(id - 1) })),
    languages: createRows(6, (id) => ({ id, name: ['German', 'English', 'Czech', 'Greek', 'Irish', 'Basque'][id - 1]! })),
    films: createRows(films, (id) => ({
      id,
      title: createName(id),
      rating: pick(['G', 'PG', 'PG-13', 'R']),
      length: 45 + random(140),
      languageId: 1 + random(5),
      originalLanguageId: random(3) === 0 ? 1 + random(6) : null,
      prequelId: id > 10 && random(5) === 0 ? 1 + random(id - 1) : null
    })),
    actors: createRows(actors, (id) => ({ id, name: createName(id) })),
    filmActors: createRows(5200, (id) => ({ id, filmId: 1 + random(films - 30), actorId: 1 + random(actors - 5) })),
    filmCategories: createRows(1600, (id) => ({ id, filmId: 1 + random(films), categoryId: 1 + random(15) })),
    inventory: createRows(inventory, (id) => ({ id, filmId: 1 + random(films - 50), storeId: 1 + random(5) })),
    rentals,
    // Some rentals are paid in two parts, and some are not.
    payments: createRows(18_000, (id) => {
      const rental = rentals[random(rentals.length - 500)]!
      return {
        id,
        rentalId: rental.id,
        customerId: rental.customerId,
        amount: 99 + 100 * random(12),
        paidAt: addDays(rental.rentedAt)
      }
    })
  }
}

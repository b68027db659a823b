// Questions about the rental database, of rising difficulty, each with the statement that answers it.

export type Item = Readonly<Record<string, unknown>>

/** An included list. */
interface Included {
  readonly items: readonly Item[]
  readonly total?: number
}

export interface Question {
  readonly title: string
  /** The collection and, for GET, the query string. */
  readonly url: string
  /** The content of a QUERY; for `code`, the query of a call. */
  readonly content?: object
  readonly isCall?: boolean
  /** The rows that an item of the response stands for. Its id by default. */
  readonly read?: (item: Item) => ReadonlyArray<readonly unknown[]>
  /** Identifiers are in double quotes, times in `{...}`. */
  readonly sql: string
}

function getIncluded (item: Item, name: string): Included {
  return item[name] as Included
}

/** One row for each item of an included list. */
function readIncluded (name: string, ...properties: readonly string[]): NonNullable<Question['read']> {
  return (item) => getIncluded(item, name).items.map((included) => {
    return [item['id'], ...properties.map((property) => included[property])]
  })
}

function readTotal (...names: readonly string[]): NonNullable<Question['read']> {
  return (item) => [[item['id'], ...names.map((name) => getIncluded(item, name).total)]]
}

/** One row with properties of the item itself. */
function readProperties (...properties: readonly string[]): NonNullable<Question['read']> {
  return (item) => [properties.map((property) => item[property])]
}

/** The property of an item that is included, or null. */
function getOf (item: unknown, name: string, property: string): unknown {
  return (item as Record<string, Item | null>)[name]?.[property] ?? null
}

const customersOfCountry = `
  SELECT c."id" FROM "customers" c
  JOIN "addresses" a ON a."id" = c."addressId"
  JOIN "cities" y ON y."id" = a."cityId"
  JOIN "countries" n ON n."id" = y."countryId"
  WHERE n."name" = 'Country 7' ORDER BY c."name", c."id"`

export const questions: readonly Question[] = [
  {
    title: 'films that are rated PG and longer than two hours',
    url: '/films?rating=PG&length.gt=120&sort=title',
    sql: 'SELECT "id" FROM "films" WHERE "rating" = \'PG\' AND "length" > 120 ORDER BY "title", "id"'
  },
  {
    title: 'films in German, with the name of their language',
    url: '/films?language.name=German&expand=language',
    read: (item) => [[item['id'], getOf(item, 'language', 'name')]],
    sql: 'SELECT f."id", l."name" FROM "films" f JOIN "languages" l ON l."id" = f."languageId" ' +
      'WHERE l."name" = \'German\' ORDER BY f."id"'
  },
  {
    title: 'customers of a country, through three joins',
    url: '/customers?address.city.country.name=Country 7&sort=name',
    sql: customersOfCountry
  },
  {
    title: 'the same customers, asked with QUERY',
    url: '/customers',
    content: { filter: { address: { city: { country: { name: 'Country 7' } } } }, sort: ['name'] },
    sql: customersOfCountry
  },
  {
    title: 'the same customers, asked from code',
    url: '/customers',
    content: { filter: { 'address.city.country.name': 'Country 7' }, sort: ['name'] },
    isCall: true,
    sql: customersOfCountry
  },
  {
    title: 'films with an actor, through the collection in between',
    url: '/films?filmActors.some.actorId=17&sort=-title',
    sql: 'SELECT DISTINCT f."id", f."title" FROM "films" f JOIN "filmActors" fa ON fa."filmId" = f."id" ' +
      'WHERE fa."actorId" = 17 ORDER BY f."title" DESC, f."id"',
    read: readProperties('id', 'title')
  },
  {
    title: 'films of a category whose original language is Basque',
    url: '/films?filmCategories.some.category.name=Category 4&originalLanguage.name=Basque',
    sql: `SELECT DISTINCT f."id" FROM "films" f
      JOIN "filmCategories" fc ON fc."filmId" = f."id"
      JOIN "categories" c ON c."id" = fc."categoryId"
      JOIN "languages" l ON l."id" = f."originalLanguageId"
      WHERE c."name" = 'Category 4' AND l."name" = 'Basque' ORDER BY f."id"`
  },
  {
    title: 'films without actors',
    url: '/films?filmActors.count=0',
    sql: 'SELECT f."id" FROM "films" f LEFT JOIN "filmActors" fa ON fa."filmId" = f."id" ' +
      'WHERE fa."id" IS NULL ORDER BY f."id"'
  },
  {
    title: 'copies that were never rented',
    url: '/inventory?rentals.count.lt=1&sort=-film.title&limit=120',
    sql: 'SELECT i."id" FROM "inventory" i JOIN "films" f ON f."id" = i."filmId" ' +
      'WHERE i."id" NOT IN (SELECT "inventoryId" FROM "rentals") ORDER BY f."title" DESC, i."id"'
  },
  {
    title: 'active customers who have never rented anything',
    url: '/customers?active=true&rentals.none.id.gte=0',
    sql: 'SELECT "id" FROM "customers" WHERE "active" AND "id" NOT IN (SELECT "customerId" FROM "rentals") ORDER BY "id"'
  },
  {
    title: 'films with at least ten actors',
    url: '/films?filmActors.count.gte=10',
    sql: 'SELECT "filmId" FROM "filmActors" GROUP BY "filmId" HAVING COUNT(*) >= 10 ORDER BY "filmId"'
  },
  {
    title: 'films in which two actors play together',
    url: '/films',
    content: {
      filter: { all: [{ filmActors: { some: { actorId: 3 } } }, { filmActors: { some: { actorId: 8 } } }] }
    },
    sql: 'SELECT "filmId" FROM "filmActors" WHERE "actorId" = 3 ' +
      'INTERSECT SELECT "filmId" FROM "filmActors" WHERE "actorId" = 8 ORDER BY 1'
  },
  {
    title: 'rentals on the last day of February',
    url: '/rentals?rentedAt.gte=2026-02-28T00:00:00Z&rentedAt.lt=2026-03-01T00:00:00Z&sort=rentedAt',
    sql: 'SELECT "id" FROM "rentals" WHERE "rentedAt" >= {2026-02-28T00:00:00.000Z} ' +
      'AND "rentedAt" < {2026-03-01T00:00:00.000Z} ORDER BY "rentedAt", "id"'
  },
  {
    title: 'payments for rentals that began in the last second of January',
    url: '/payments?rental.rentedAt.gt=2026-01-31T23:59:59Z&rental.rentedAt.lt=2026-02-01T00:00:00Z&sort=-amount',
    sql: 'SELECT p."id" FROM "payments" p JOIN "rentals" r ON r."id" = p."rentalId" ' +
      'WHERE r."rentedAt" > {2026-01-31T23:59:59.000Z} AND r."rentedAt" < {2026-02-01T00:00:00.000Z} ' +
      'ORDER BY p."amount" DESC, p."id"'
  },
  {
    title: 'all staff, by the name of the manager, with those who have none at the end',
    url: '/staff?sort=manager.name,-name&limit=7',
    sql: 'SELECT s."id" FROM "staff" s LEFT JOIN "staff" m ON m."id" = s."managerId" ' +
      'ORDER BY m."name" IS NULL, m."name", s."name" DESC, s."id"'
  },
  {
    title: 'staff whose manager\'s manager is the first one',
    url: '/staff?manager.manager.id=1&expand=manager.manager',
    read: (item) => [[item['id'], getOf(item['manager'], 'manager', 'id')]],
    sql: 'SELECT s."id", m."managerId" FROM "staff" s JOIN "staff" m ON m."id" = s."managerId" ' +
      'WHERE m."managerId" = 1 ORDER BY s."id"'
  },
  {
    title: 'all films by their original language, most of which have none, to the end',
    url: '/films?sort=-originalLanguage.name,title&limit=37',
    sql: 'SELECT f."id" FROM "films" f LEFT JOIN "languages" l ON l."id" = f."originalLanguageId" ' +
      'ORDER BY l."name" IS NOT NULL, l."name" DESC, f."title", f."id"'
  },
  {
    title: 'rentals that are not returned, by the name of the customer, to the end',
    url: '/rentals?returnedAt.null=true&sort=customer.name,-rentedAt&limit=100',
    sql: 'SELECT r."id" FROM "rentals" r JOIN "customers" c ON c."id" = r."customerId" ' +
      'WHERE r."returnedAt" IS NULL ORDER BY c."name", r."rentedAt" DESC, r."id"'
  },
  {
    title: 'the three latest rentals of each customer of a store',
    url: '/customers?storeId=2&expand=rentals&expand.rentals.limit=3&expand.rentals.sort=-rentedAt&limit=100',
    read: readIncluded('rentals', 'id'),
    sql: `SELECT "customerId", "id" FROM (
      SELECT r."customerId", r."id", ROW_NUMBER() OVER (
        PARTITION BY r."customerId" ORDER BY r."rentedAt" DESC, r."id"
      ) AS n FROM "rentals" r JOIN "customers" c ON c."id" = r."customerId" WHERE c."storeId" = 2
    ) t WHERE n <= 3 ORDER BY "customerId", n`
  },
  {
    title: 'the five longest films of each language, and one that has none',
    url: '/languages?expand=films&expand.films.limit=5&expand.films.sort=-length,title&expand.films.fields=title,length',
    read: (item) => {
      const { items } = getIncluded(item, 'films')
      const rows = items.map(({ title, length }) => [item['id'], title, length])
      return rows.length === 0 ? [[item['id'], null, null]] : rows
    },
    sql: `SELECT l."id", t."title", t."length" FROM "languages" l LEFT JOIN (
      SELECT "languageId", "title", "length", ROW_NUMBER() OVER (
        PARTITION BY "languageId" ORDER BY "length" DESC, "title", "id"
      ) AS n FROM "films"
    ) t ON t."languageId" = l."id" AND t.n <= 5 ORDER BY l."id", t.n`
  },
  {
    title: 'how many customers, staff and copies each store has, with one that has no customers',
    url: '/stores?expand=customers,staff,inventory' +
      '&expand.customers.limit=0&expand.staff.limit=0&expand.inventory.limit=0',
    read: readTotal('customers', 'staff', 'inventory'),
    sql: `SELECT s."id",
      (SELECT COUNT(*) FROM "customers" c WHERE c."storeId" = s."id") AS a,
      (SELECT COUNT(*) FROM "staff" f WHERE f."storeId" = s."id") AS b,
      (SELECT COUNT(*) FROM "inventory" i WHERE i."storeId" = s."id") AS c
      FROM "stores" s ORDER BY s."id"`
  },
  {
    title: 'the largest two payments of at least 1000 of some customers, and how many there are',
    url: '/customers?id.lte=300&limit=100&expand=payments&expand.payments.amount.gte=1000' +
      '&expand.payments.sort=-amount&expand.payments.limit=2&expand.payments.count=true',
    read: (item) => {
      const { items, total } = getIncluded(item, 'payments')
      return items.map(({ id }) => [item['id'], id, total])
    },
    sql: `SELECT "customerId", "id", total FROM (
      SELECT "customerId", "id", COUNT(*) OVER (PARTITION BY "customerId") AS total,
        ROW_NUMBER() OVER (PARTITION BY "customerId" ORDER BY "amount" DESC, "id") AS n
      FROM "payments" WHERE "amount" >= 1000 AND "customerId" <= 300
    ) t WHERE n <= 2 ORDER BY "customerId", n`
  },
  {
    title: 'the distinct countries of customers who are not active',
    url: '/countries?cities.some.addresses.some.customers.some.active=false',
    sql: `SELECT DISTINCT y."countryId" FROM "cities" y
      JOIN "addresses" a ON a."cityId" = y."id" JOIN "customers" c ON c."addressId" = a."id"
      WHERE NOT c."active" ORDER BY 1`
  },
  {
    title: 'cities with addresses but without customers',
    url: '/cities?addresses.count.gt=0&addresses.none.customers.count.gte=1',
    sql: `SELECT y."id" FROM "cities" y
      WHERE EXISTS (SELECT 1 FROM "addresses" a WHERE a."cityId" = y."id") AND NOT EXISTS (
        SELECT 1 FROM "addresses" a JOIN "customers" c ON c."addressId" = a."id" WHERE a."cityId" = y."id"
      ) ORDER BY y."id"`
  },
  {
    title: 'films that a customer has rented',
    url: '/films?inventory.some.rentals.some.customerId=77&sort=title',
    sql: `SELECT DISTINCT f."id", f."title" FROM "rentals" r
      JOIN "inventory" i ON i."id" = r."inventoryId" JOIN "films" f ON f."id" = i."filmId"
      WHERE r."customerId" = 77 ORDER BY f."title", f."id"`,
    read: readProperties('id', 'title')
  },
  {
    title: 'films with copies, none of which was rented in the first week of March',
    url: '/films?inventory.count.gte=1&inventory.none.rentals.some.rentedAt.gte=2026-03-01T00:00:00Z' +
      '&inventory.none.rentals.some.rentedAt.lt=2026-03-08T00:00:00Z&limit=200',
    sql: `SELECT DISTINCT "filmId" FROM "inventory" WHERE "filmId" NOT IN (
        SELECT i."filmId" FROM "inventory" i JOIN "rentals" r ON r."inventoryId" = i."id"
        WHERE r."rentedAt" >= {2026-03-01T00:00:00.000Z} AND r."rentedAt" < {2026-03-08T00:00:00.000Z}
      ) ORDER BY "filmId"`
  },
  {
    title: 'customers who have rented something and never paid more than 900',
    url: '/customers?rentals.count.gte=1&payments.none.amount.gt=900',
    sql: `SELECT DISTINCT "customerId" FROM "rentals" WHERE "customerId" NOT IN (
        SELECT "customerId" FROM "payments" WHERE "amount" > 900
      ) ORDER BY "customerId"`
  },
  {
    title: 'sequels of sequels, with the title of the first part',
    url: '/films?prequel.prequel.id.gt=0&expand=prequel.prequel&sort=prequel.title',
    read: (item) => [[item['id'], getOf(item['prequel'], 'prequel', 'title')]],
    sql: `SELECT c."id", a."title" FROM "films" c JOIN "films" b ON b."id" = c."prequelId"
      JOIN "films" a ON a."id" = b."prequelId" ORDER BY b."title", c."id"`
  },
  {
    title: 'categories with their parents and the number of their children',
    url: '/categories?expand=parent,children&expand.children.limit=0&sort=parent.name,name',
    read: (item) => [[item['id'], getOf(item, 'parent', 'name'), getIncluded(item, 'children').total]],
    sql: `SELECT c."id", p."name", (SELECT COUNT(*) FROM "categories" k WHERE k."parentId" = c."id") AS children
      FROM "categories" c LEFT JOIN "categories" p ON p."id" = c."parentId"
      ORDER BY p."name" IS NULL, p."name", c."name", c."id"`
  },
  {
    title: 'a store with its manager, its staff, their latest rental and the customer of that',
    url: '/stores?id=3&expand=manager,staff.rentals.customer&expand.staff.rentals.sort=-rentedAt' +
      '&expand.staff.rentals.limit=1',
    read: (item) => getIncluded(item, 'staff').items.flatMap((person) => {
      return getIncluded(person, 'rentals').items.map((rental) => {
        return [getOf(item, 'manager', 'id'), person['id'], rental['id'], getOf(rental, 'customer', 'name')]
      })
    }),
    sql: `SELECT t."managerId", t."staffId", t."id", c."name" FROM (
      SELECT s."managerId", r."staffId", r."id", r."customerId", ROW_NUMBER() OVER (
        PARTITION BY r."staffId" ORDER BY r."rentedAt" DESC, r."id"
      ) AS n FROM "stores" s JOIN "staff" p ON p."storeId" = s."id" JOIN "rentals" r ON r."staffId" = p."id"
      WHERE s."id" = 3
    ) t JOIN "customers" c ON c."id" = t."customerId" WHERE n = 1 ORDER BY t."staffId"`
  },
  {
    title: 'customers who are not active or have returned everything, outside a country and with more than 20 rentals',
    url: '/customers',
    content: {
      filter: {
        any: [{ active: false }, { rentals: { none: { 'returnedAt.null': true } } }],
        not: { address: { city: { 'countryId.in': [7, 8, 9] } } },
        'rentals.count.gt': 20
      },
      sort: ['address.street', '-id']
    },
    sql: `SELECT c."id" FROM "customers" c
      JOIN "addresses" a ON a."id" = c."addressId" JOIN "cities" y ON y."id" = a."cityId"
      WHERE (NOT c."active" OR c."id" NOT IN (SELECT "customerId" FROM "rentals" WHERE "returnedAt" IS NULL))
      AND y."countryId" NOT IN (7, 8, 9)
      AND (SELECT COUNT(*) FROM "rentals" r WHERE r."customerId" = c."id") > 20
      ORDER BY a."street", c."id" DESC`
  },
  {
    title: 'actors who have played in films of every category of three, but never in Greek',
    url: '/actors',
    content: {
      filter: {
        all: [1, 2, 3].map((categoryId) => ({
          filmActors: { some: { film: { filmCategories: { some: { categoryId } } } } }
        })),
        filmActors: { none: { film: { languageId: 4, 'length.lt': 60 } } }
      },
      sort: ['-name']
    },
    sql: `SELECT a."id" FROM "actors" a
      WHERE (SELECT COUNT(DISTINCT fc."categoryId") FROM "filmActors" fa
        JOIN "filmCategories" fc ON fc."filmId" = fa."filmId"
        WHERE fa."actorId" = a."id" AND fc."categoryId" IN (1, 2, 3)) = 3
      AND a."id" NOT IN (SELECT fa."actorId" FROM "filmActors" fa JOIN "films" f ON f."id" = fa."filmId"
        WHERE f."languageId" = 4 AND f."length" < 60)
      ORDER BY a."name" DESC, a."id"`
  }
]

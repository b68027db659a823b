import assert from 'node:assert/strict'
import type { Entry, Filter, Id, JsonSchema, Order, Page, Query, RelatedRows, Shape, Storage } from '../contract.ts'
import { assertWritten, buildQuery, insertThings, listIds, listThings, scopedTo, unscoped, type Case } from './case.ts'
import type { Thing } from './thing.ts'

/** How the ids of people are stored, and the properties that have them. */
interface Variant {
  readonly title: string
  readonly id: JsonSchema
  readonly reference: JsonSchema
  readonly toId: (number: number) => Id
}

const short: JsonSchema = { type: 'string', maxLength: 60 }
const toUuid = (number: number) => `00000000-0000-4000-8000-0000000000${10 + number}`

const byText: Variant = { title: 'text', id: short, reference: short, toId: (number) => `p${number}` }

const variants: readonly Variant[] = [
  byText,
  { title: 'integers', id: { type: 'integer' }, reference: { type: 'integer' }, toId: (number) => number },
  {
    title: 'UUIDs',
    id: { type: 'string', format: 'uuid' },
    reference: { type: 'string', format: 'uuid' },
    toId: toUuid
  },
  {
    title: 'UUIDs that others store as text',
    id: { type: 'string', format: 'uuid' },
    reference: short,
    toId: toUuid
  }
]

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })

function buildPeople ({ id, reference }: Variant): Shape {
  return {
    name: 'people',
    schema: {
      type: 'object',
      properties: {
        id,
        name: { type: 'string' },
        country: { type: ['string', 'null'] },
        age: { type: ['integer', 'null'] },
        born: { type: 'string', format: 'date-time' },
        retired: { type: 'boolean' },
        place: { type: 'object', properties: { city: { type: 'string' }, floor: { type: 'integer' } } },
        // A keyword of most query languages, and a property that posts have as well.
        order: { type: 'string' },
        managerId: orNull(reference)
      },
      required: ['id', 'name']
    },
    id: { property: 'id', generate: 'client' },
    unique: []
  }
}

function buildPosts ({ reference }: Variant): Shape {
  return {
    name: 'posts',
    schema: {
      type: 'object',
      properties: {
        id: short,
        title: { type: 'string' },
        order: { type: 'string' },
        rank: { type: ['integer', 'null'] },
        authorId: orNull(reference),
        editorId: orNull(reference)
      },
      required: ['id', 'title']
    },
    id: { property: 'id', generate: 'client' },
    unique: []
  }
}

function buildRows ({ toId }: Variant): { people: Thing[], posts: Thing[] } {
  const people: Thing[] = [
    {
      id: toId(1),
      name: 'Ann',
      country: 'AT',
      age: 50,
      born: '1970-01-01T00:00:00.001Z',
      retired: true,
      place: { city: 'Graz', floor: 10 },
      order: 'x',
      managerId: null
    },
    {
      id: toId(2),
      name: 'Bob',
      country: 'DE',
      age: 9,
      retired: false,
      place: { city: 'graz', floor: 9 },
      order: 'y',
      managerId: toId(1)
    },
    { id: toId(3), name: 'Cid', country: 'AT', age: 9, born: '2000-02-29T12:00:00.000Z', managerId: toId(2) },
    { id: toId(4), name: 'Dan', country: 'at', managerId: toId(4) },
    { id: toId(5), name: 'Eve', country: null, age: null, retired: false, managerId: toId(89) }
  ]
  const posts: Thing[] = [
    { id: 'a', title: 'one', rank: 3, order: 'y', authorId: toId(1), editorId: toId(2) },
    { id: 'b', title: 'two', rank: 1, authorId: toId(1), editorId: toId(1) },
    { id: 'c', title: 'three', rank: null, authorId: toId(2), editorId: toId(3) },
    { id: 'd', title: 'four', rank: 2, authorId: toId(3), editorId: toId(1) },
    { id: 'e', title: 'five', rank: 2, authorId: null },
    { id: 'f', title: 'six', rank: 2 },
    { id: 'g', title: 'seven', authorId: toId(89) },
    { id: 'h', title: 'eight', rank: 2, authorId: toId(5), editorId: toId(4) },
    { id: 'i', title: 'nine', rank: 1, authorId: toId(5) },
    { id: 'j', title: 'ten', rank: 3, authorId: toId(5), editorId: toId(2) }
  ]
  return { people, posts }
}

interface Storages {
  readonly people: Storage<Thing>
  readonly posts: Storage<Thing>
  /** The id of the person with this number. */
  readonly toId: Variant['toId']
}

/** A case over posts and the people that have written them, with rows. */
function relationCase (
  title: string,
  run: (storages: Storages) => Promise<void>,
  { variant = byText, requires = [] }: { variant?: Variant, requires?: Case['requires'] & {} } = {}
): Case {
  return {
    title,
    requires: ['relations', ...requires],
    shape: buildPosts(variant),
    beside: buildPeople(variant),
    async run (posts, people) {
      const rows = buildRows(variant)
      await insertThings(posts, ...rows.posts)
      await insertThings(people!, ...rows.people)
      await run({ posts, people: people!, toId: variant.toId })
    }
  }
}

const author = ({ people }: Storages, filter?: Filter): RelatedRows => {
  return { storage: people, property: 'authorId', equals: 'id', filter }
}
const editor = ({ people }: Storages, filter?: Filter): RelatedRows => {
  return { storage: people, property: 'editorId', equals: 'id', filter }
}
const manager = ({ people }: Storages, filter?: Filter): RelatedRows => {
  return { storage: people, property: 'managerId', equals: 'id', filter }
}
const reports = ({ people }: Storages, filter?: Filter): RelatedRows => {
  return { storage: people, property: 'id', equals: 'managerId', filter }
}
const articles = ({ posts }: Storages, filter?: Filter): RelatedRows => {
  return { storage: posts, property: 'id', equals: 'authorId', filter }
}

const isAustrian: Filter = { property: 'country', is: 'eq', value: 'AT' }
const isNamed = (name: string): Filter => ({ property: 'name', is: 'eq', value: name })
const hasRank = (value: number): Filter => ({ property: 'rank', is: 'eq', value })

/** A filter, and the ids of the posts that it matches, as one text. */
type PostExpectation = readonly [filter: Filter, expected: string]

async function assertPosts ({ posts }: Storages, expectations: readonly PostExpectation[]): Promise<void> {
  for (const [filter, expected] of expectations) {
    assert.equal((await listIds(posts, { filter })).join(''), expected, describe(filter))
    const rest = [...'abcdefghij'].filter((id) => !expected.includes(id)).join('')
    assert.equal((await listIds(posts, { filter: { not: filter } })).join(''), rest, `not ${describe(filter)}`)
  }
}

/** A filter, and the numbers of the people that it matches. */
type PeopleExpectation = readonly [filter: Filter, expected: readonly number[]]

async function assertPeople ({ people, toId }: Storages, expectations: readonly PeopleExpectation[]): Promise<void> {
  const toIds = (numbers: readonly number[]) => numbers.map(toId)
  for (const [filter, expected] of expectations) {
    assert.deepEqual(await listIds(people, { filter }), toIds(expected), describe(filter))
    const rest = [1, 2, 3, 4, 5].filter((number) => !expected.includes(number))
    assert.deepEqual(await listIds(people, { filter: { not: filter } }), toIds(rest), `not ${describe(filter)}`)
  }
}

function describe (filter: Filter): string {
  return JSON.stringify(filter, (key, value: unknown) => key === 'storage' ? undefined : value)
}

const some = (related: RelatedRows): Filter => ({ related })
const count = (related: RelatedRows, is: 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte', value: number): Filter => {
  return { related, count: { is, value } }
}

const conditionCases = variants.flatMap((variant): Case[] => [
  relationCase(`a related condition finds the row with an id, if ids are ${variant.title}`, async (storages) => {
    await assertPosts(storages, [
      [some(author(storages)), 'abcdhij'],
      [some(author(storages, isAustrian)), 'abd'],
      [some(author(storages, { not: isAustrian })), 'chij'],
      [some(author(storages, { property: 'country', is: 'null', value: true })), 'hij'],
      [some(author(storages, { property: 'age', is: 'lt', value: 10 })), 'cd'],
      [some(author(storages, { property: 'place.floor', is: 'gte', value: 10 })), 'ab'],
      [some(author(storages, { property: 'id', is: 'eq', value: storages.toId(2) })), 'c'],
      [some(author(storages, { any: [] })), ''],
      [some(author(storages, { all: [] })), 'abcdhij'],
      [{ all: [some(author(storages, isAustrian)), hasRank(3)] }, 'a'],
      [{ any: [some(author(storages, isNamed('Bob'))), hasRank(3)] }, 'acj'],
      [{ all: [some(author(storages, isAustrian)), some(editor(storages, isAustrian))] }, 'bd']
    ])
  }, { variant }),
  relationCase(`a related condition counts the rows of an id, if ids are ${variant.title}`, async (storages) => {
    await assertPeople(storages, [
      [some(articles(storages)), [1, 2, 3, 5]],
      [some(articles(storages, hasRank(3))), [1, 5]],
      [some(articles(storages, { not: hasRank(3) })), [1, 2, 3, 5]],
      [count(articles(storages), 'eq', 0), [4]],
      [count(articles(storages), 'eq', 2), [1]],
      [count(articles(storages), 'ne', 1), [1, 4, 5]],
      [count(articles(storages), 'ne', 0), [1, 2, 3, 5]],
      [count(articles(storages), 'lt', 2), [2, 3, 4]],
      [count(articles(storages), 'lt', 1), [4]],
      [count(articles(storages), 'lte', 2), [1, 2, 3, 4]],
      [count(articles(storages), 'lte', 0), [4]],
      [count(articles(storages), 'gt', 0), [1, 2, 3, 5]],
      [count(articles(storages), 'gt', 1), [1, 5]],
      [count(articles(storages), 'gte', 0), [1, 2, 3, 4, 5]],
      [count(articles(storages), 'gte', 1), [1, 2, 3, 5]],
      [count(articles(storages), 'gte', 3), [5]],
      [count(articles(storages, hasRank(2)), 'eq', 1), [3, 5]],
      [count(articles(storages, hasRank(2)), 'lt', 1), [1, 2, 4]]
    ])
    await assertPosts(storages, [
      [count(author(storages, isAustrian), 'eq', 0), 'cefghij'],
      [count(author(storages), 'lte', 1), 'abcdefghij'],
      [count(author(storages), 'gt', 1), '']
    ])
  }, { variant }),
  relationCase(`related conditions can be nested and refer to the same rows, if ids are ${variant.title}`,
    async (storages) => {
      const managed = (filter?: Filter) => some(manager(storages, filter))
      await assertPosts(storages, [
        [some(author(storages, managed())), 'cd'],
        [some(author(storages, managed(isNamed('Ann')))), 'c'],
        [some(author(storages, managed(managed(isNamed('Ann'))))), 'd'],
        [some(author(storages, { not: managed() })), 'abhij'],
        [some(author(storages, { not: managed({ not: isNamed('Ann') }) })), 'abchij'],
        [some(author(storages, count(articles(storages), 'gte', 3))), 'hij'],
        [some(author(storages, some(articles(storages, hasRank(2))))), 'dhij'],
        [some(author(storages, { not: some(articles(storages, some(author(storages, isAustrian)))) })), 'chij']
      ])
      await assertPeople(storages, [
        [managed(), [2, 3, 4]],
        [managed({ not: isNamed('Dan') }), [2, 3]],
        [managed(managed(managed(isNamed('Dan')))), [4]],
        [some(reports(storages)), [1, 2, 4]],
        [count(reports(storages), 'eq', 0), [3, 5]],
        [some(reports(storages, some(reports(storages)))), [1, 4]],
        [some(reports(storages, some(articles(storages, hasRank(2))))), [2]]
      ])
    }, { variant })
])

/** Reads every page from one end to the other, by the positions of the entries. */
async function walkPositions (storage: Storage<Thing>, query: Pick<Query, 'order' | 'limit'>): Promise<void> {
  const { order, limit } = query
  const all = (await listThings(storage, { order })).entries
  for (const entry of all) assert.equal(entry.position?.length, order.length, 'an entry has no position')
  const ids = all.map(({ id }) => id)
  const seen: Id[] = []
  for (let last: Entry<Thing> | undefined, more = true; more;) {
    const page: Page<Thing> = await listThings(storage, { order, limit, after: last?.position })
    seen.push(...page.entries.map(({ id }) => id))
    last = page.entries.at(-1)
    more = page.more
  }
  assert.deepEqual(seen, ids, `forward by ${limit}`)
  const last = all.at(-1)!
  const seenBackward: Id[] = [last.id]
  for (let first = last, more = true; more;) {
    const page = await listThings(storage, { order, limit, before: first.position })
    seenBackward.unshift(...page.entries.map(({ id }) => id))
    first = page.entries[0] ?? first
    more = page.more
  }
  assert.deepEqual(seenBackward, ids, `backward by ${limit}`)
}

function by (property: string, related?: RelatedRows): Order {
  return {
    property: property.replace(/^-/, ''),
    descending: property.startsWith('-'),
    ...related && { related }
  }
}

const orderCases = variants.map((variant): Case => {
  const title = 'lists can be ordered by properties of related rows, and null if there is none'
  return relationCase(`${title}, if ids are ${variant.title}`, async (storages) => {
    const { posts, people, toId } = storages
    const writer = author(storages)
    const expectations: ReadonlyArray<readonly [order: Order[], expected: string]> = [
      [[by('name', writer), by('id')], 'abcdhijefg'],
      [[by('-name', writer), by('id')], 'efghijdcab'],
      [[by('name', writer), by('-id')], 'bacdjihgfe'],
      [[by('age', writer), by('id')], 'cdabefghij'],
      [[by('-age', writer), by('name', writer), by('rank'), by('id')], 'ihjefgbacd'],
      [[by('rank'), by('name', writer), by('id')], 'bidhefajcg'],
      [[by('born', writer), by('id')], 'abdcefghij'],
      [[by('retired', writer), by('-id')], 'jihcbagfed'],
      [[by('place.city', writer), by('id')], 'abcdefghij'],
      [[by('-place.floor', writer), by('-id')], 'jihgfedbac'],
      [[by('order', writer), by('order'), by('id')], 'abcdefghij'],
      [[by('name', author(storages, isAustrian)), by('id')], 'abdcefghij'],
      [[by('name', author(storages, some(manager(storages)))), by('id')], 'cdabefghij'],
      [[by('name', editor(storages)), by('-name', writer), by('id')], 'dbjachefgi']
    ]
    for (const [order, expected] of expectations) {
      const { entries } = await listThings(posts, { order })
      assert.equal(entries.map(({ id }) => id).join(''), expected, describeOrder(order))
      for (const limit of [1, 3, 10]) await walkPositions(posts, { order, limit })
    }
    const { entries: [first] } = await listThings(posts, { order: [by('born', writer), by('age', writer), by('id')] })
    assert.deepEqual(first?.position, ['1970-01-01T00:00:00.001Z', 50, 'a'])
    const bosses = [by('name', manager(storages)), by('id')]
    assert.deepEqual(await listIds(people, { order: bosses }), [2, 3, 4, 1, 5].map(toId))
    await walkPositions(people, { order: bosses, limit: 2 })
  }, { variant })
})

function describeOrder (order: readonly Order[]): string {
  return order.map(({ property, descending, related }) => {
    return `${descending ? '-' : ''}${related === undefined ? '' : `${related.property}.`}${property}`
  }).join()
}

/** The ids of each page, as texts. */
function toTexts (pages: ReadonlyArray<Page<Thing>>): string[] {
  return pages.map(({ entries }) => entries.map(({ id }) => String(id)).join(''))
}

const listByCases = variants.map((variant): Case => {
  return relationCase(`listBy returns a page for each value, if ids are ${variant.title}`, async (storages) => {
    const { posts, people, toId } = storages
    assert.ok(posts.listBy !== undefined, 'listBy is missing')
    const authors = { property: 'authorId', values: [5, 4, 1, 89, 2].map(toId) }
    const pages = await posts.listBy(authors, buildQuery(), unscoped)
    assert.deepEqual(toTexts(pages), ['hij', '', 'ab', 'g', 'c'])
    assert.ok(pages.every(({ more, total }) => !more && total === undefined))
    assert.equal(pages[0]!.entries[0]!.version, (await posts.find('h', unscoped))?.version)
    const limited = await posts.listBy(authors, buildQuery({ limit: 2 }), unscoped)
    assert.deepEqual(toTexts(limited), ['hi', '', 'ab', 'g', 'c'])
    assert.deepEqual(limited.map(({ more }) => more), [true, false, false, false, false])
    const order = [by('-rank'), by('id')]
    assert.deepEqual(toTexts(await posts.listBy(authors, buildQuery({ order, limit: 2 }), unscoped)),
      ['jh', '', 'ab', 'g', 'c'])
    assert.deepEqual(await posts.listBy({ ...authors, values: [] }, buildQuery(), unscoped), [])
    const bosses = await people.listBy!({ property: 'id', values: [3, 88, 1].map(toId) }, buildQuery(), unscoped)
    assert.deepEqual(bosses.map(({ entries }) => entries.map(({ item }) => item['name'])), [['Cid'], [], ['Ann']])
    const team = await people.listBy!({ property: 'managerId', values: [1, 4, 5].map(toId) }, buildQuery(), unscoped)
    assert.deepEqual(team.map(({ entries }) => entries.map(({ item }) => item['name'])), [['Bob'], ['Dan'], []])
  }, { variant })
})

export const relationCases: readonly Case[] = [
  ...conditionCases,
  ...orderCases,
  ...listByCases,
  relationCase('related conditions apply together with a search, a scope, a total and a page', async (storages) => {
    const { posts } = storages
    const filter = some(author(storages, isAustrian))
    const page = await listThings(posts, { filter, count: true, limit: 1, after: ['a'] })
    assert.deepEqual([page.entries.map(({ id }) => id), page.more, page.total], [['b'], true, 3])
    const search = { words: ['o'], properties: ['title'] }
    assert.deepEqual(await listIds(posts, { filter, search }), ['a', 'b', 'd'])
    assert.deepEqual(await listIds(posts, { filter }, scopedTo(hasRank(2))), ['d'])
    assert.deepEqual(await listIds(posts, {}, scopedTo(filter)), ['a', 'b', 'd'])
    assert.equal(await posts.find('c', scopedTo(filter)), undefined)
    assert.equal((await posts.find('d', scopedTo(filter)))?.id, 'd')
  }, { requires: ['search', 'count'] }),
  relationCase('an order by related rows applies together with a filter, a search and a total', async (storages) => {
    const { posts } = storages
    const order = [by('-name', author(storages)), by('id')]
    const filter = some(author(storages, { not: isNamed('Eve') }))
    const search = { words: ['o'], properties: ['title'] }
    const page = await listThings(posts, { filter, order, search, count: true, limit: 2 })
    assert.deepEqual([page.entries.map(({ id }) => id), page.more, page.total], [['d', 'a'], true, 3])
    const rest = await listThings(posts, { filter, order, search, limit: 2, after: page.entries[1]!.position })
    assert.deepEqual([rest.entries.map(({ id }) => id), rest.more], [['b'], false])
    const between = { after: page.entries[0]!.position, before: rest.entries[0]!.position }
    assert.deepEqual(await listIds(posts, { order, ...between }), ['c', 'a'])
  }, { requires: ['search', 'count'] }),
  relationCase('only lists that are ordered by related rows have positions', async ({ posts }) => {
    const { entries } = await listThings(posts)
    assert.ok(entries.every((entry) => entry.position === undefined))
  }),
  relationCase('listBy applies filter, search and scope, and counts each page', async (storages) => {
    const { posts, toId } = storages
    const authors = { property: 'authorId', values: [1, 5, 4, 3].map(toId) }
    const filter = some(editor(storages))
    const filtered = await posts.listBy!(authors, buildQuery({ filter, limit: 1, count: true }), unscoped)
    assert.deepEqual(toTexts(filtered), ['a', 'h', '', 'd'])
    assert.deepEqual(filtered.map(({ more }) => more), [true, true, false, false])
    assert.deepEqual(filtered.map(({ total }) => total), [2, 2, 0, 1])
    const search = { words: ['e'], properties: ['title'] }
    const found = await posts.listBy!(authors, buildQuery({ search, count: true, limit: 1 }), unscoped)
    assert.deepEqual(toTexts(found), ['a', 'h', '', ''])
    assert.deepEqual(found.map(({ total }) => total), [1, 3, 0, 0])
    const inexact = await posts.listBy!(authors, buildQuery({
      search: { words: ['é'], properties: ['title'] },
      count: true
    }), unscoped)
    assert.deepEqual(inexact.map(({ total }) => total), [0, 0, 0, 0])
    const scoped = await posts.listBy!(authors, buildQuery({ count: true }), scopedTo(hasRank(2)))
    assert.deepEqual(toTexts(scoped), ['', 'h', '', 'd'])
    assert.deepEqual(scoped.map(({ total }) => total), [0, 1, 0, 1])
  }, { requires: ['search', 'count'] }),
  relationCase('listBy can be ordered by related rows, and its entries have positions', async (storages) => {
    const { posts, toId } = storages
    const authors = { property: 'authorId', values: [1, 5].map(toId) }
    const order = [by('name', editor(storages)), by('id')]
    const pages = await posts.listBy!(authors, buildQuery({ order, limit: 2 }), unscoped)
    assert.deepEqual(toTexts(pages), ['ba', 'jh'])
    assert.deepEqual(pages.map(({ more }) => more), [false, true])
    assert.deepEqual(pages[1]!.entries.map(({ position }) => position), [['Bob', 'j'], ['Dan', 'h']])
  }),
  relationCase('listBy reads only some properties if only these are needed', async ({ posts, toId }) => {
    const values = [2].map(toId)
    const query = buildQuery({ properties: ['title'] })
    const [page] = await posts.listBy!({ property: 'authorId', values }, query, unscoped)
    assert.equal(page?.entries[0]?.item['title'], 'three')
    assert.equal(page.entries[0].id, 'c')
  }),
  relationCase('listBy accepts a thousand values', async ({ posts }) => {
    for (let number = 0; number < 20; number++) {
      const authorId = `many ${number * 50}`
      await insertThings(posts, { id: `m${number}`, title: '', authorId }, { id: `n${number}`, title: '', authorId })
    }
    const values = Array.from({ length: 1000 }, (_, index) => `many ${index}`)
    const pages = await posts.listBy!({ property: 'authorId', values }, buildQuery({ limit: 1, count: true }), unscoped)
    assert.equal(pages.length, 1000)
    for (const [index, { entries, more, total }] of pages.entries()) {
      const isFound = index % 50 === 0
      assert.deepEqual(entries.map(({ id }) => id), isFound ? [`m${index / 50}`] : [])
      assert.deepEqual([more, total], isFound ? [true, 2] : [false, 0])
    }
  }, { requires: ['count'] }),
  relationCase('a transaction reads the related rows that it has written', async (storages) => {
    const { posts, people, toId } = storages
    assert.ok(posts.transaction !== undefined && people.join !== undefined)
    await posts.transaction(async (inner, handle) => {
      const joined = people.join!(handle!)
      const authorId = toId(6)
      assertWritten(await joined.insert({ id: authorId, name: 'Fay', country: 'AT' }, unscoped))
      assertWritten(await inner.insert({ id: 'k', title: 'eleven', authorId }, unscoped))
      assert.equal(await inner.remove('a', undefined, unscoped), undefined)
      const filter = some(author(storages, isAustrian))
      assert.deepEqual(await listIds(inner, { filter }), ['b', 'd', 'k'])
      const order = [by('-name', author(storages)), by('id')]
      assert.deepEqual(await listIds(inner, { filter, order }), ['k', 'd', 'b'])
      assert.deepEqual(await listIds(joined, { filter: count(articles(storages), 'eq', 1) }), [1, 2, 3, 6].map(toId))
      const authors = { property: 'authorId', values: [6, 1].map(toId) }
      assert.deepEqual(toTexts(await inner.listBy!(authors, buildQuery(), unscoped)), ['k', 'b'])
      const locked = await inner.list(buildQuery({ filter, order, lock: true }), unscoped)
      assert.deepEqual(locked.entries.map(({ id }) => id), ['k', 'd', 'b'])
    }, unscoped)
    assert.deepEqual(await listIds(posts, { filter: some(author(storages, isAustrian)) }), ['b', 'd', 'k'])
  }, { requires: ['transactions'] })
]

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { conformance, type Open, type Thing } from '../../lib/storage/conformance.ts'
import type { Id } from '../../lib/index.ts'
import type { Entry, Filter, Query, Receipts, Refusal, Storage, Supports } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { query } from '../abuse/query.ts'
import { sample } from '../sample.ts'

interface Outcome {
  readonly passed: string[]
  readonly failed: string[]
  readonly skipped: string[]
}

interface Selection {
  readonly unsupported?: ReadonlyArray<keyof Supports>
  readonly selects?: (sentence: string) => boolean
}

async function run (open: Open, { unsupported, selects = () => true }: Selection = {}): Promise<Outcome> {
  const outcome: Outcome = { passed: [], failed: [], skipped: [] }
  const bodies: Array<() => Promise<void>> = []
  conformance(
    (sentence, { skip }, body) => {
      if (skip) outcome.skipped.push(sentence)
      else if (selects(sentence)) {
        bodies.push(() =>
          body().then(
            () => {
              outcome.passed.push(sentence)
            },
            () => {
              outcome.failed.push(sentence)
            }
          )
        )
      }
    },
    open,
    unsupported
  )
  for (const body of bodies) await body()
  return outcome
}

/** The memory storage with some methods replaced by a fault. */
const broken =
  (fault: (sound: Storage<Thing>) => Partial<Storage<Thing>>): Open =>
    (shape) => {
      const sound = memory()<Thing>(shape)
      return { ...sound, ...fault(sound) }
    }

const tick = () => new Promise((resolve) => setImmediate(resolve))

/** Changes the entries that the storage returns. */
function alterEntries (sound: Storage<Thing>, alter: (entry: Entry<Thing>) => Entry<Thing>): Partial<Storage<Thing>> {
  const result = (result: Entry<Thing> | Refusal) => ('refused' in result ? result : alter(result))
  return {
    list: async (query, context) => {
      const page = await sound.list(query, context)
      return { ...page, entries: page.entries.map(alter) }
    },
    find: async (id, context) => {
      const entry = await sound.find(id, context)
      return entry && alter(entry)
    },
    insert: async (draft, context) => result(await sound.insert(draft, context)),
    replace: async (id, item, expected, context) => result(await sound.replace(id, item, expected, context))
  }
}

/** Changes the conditions of filters. */
function rewriteFilters (sound: Storage<Thing>, rewrite: (filter: Filter) => Filter): Partial<Storage<Thing>> {
  const inner = (filter: Filter): Filter => {
    if ('all' in filter) return { all: filter.all.map(inner) }
    if ('any' in filter) return { any: filter.any.map(inner) }
    if ('not' in filter) return { not: inner(filter.not) }
    return rewrite(filter)
  }
  return { list: (query, context) => sound.list({ ...query, filter: query.filter && inner(query.filter) }, context) }
}

/** The memory storage with some methods of receipts replaced. */
const withReceipts = (fault: (sound: Receipts) => Partial<Receipts>): Open =>
  broken(({ receipts }) => ({
    receipts: {
      claim: (...args) => receipts!.claim(...args),
      keep: (...args) => receipts!.keep(...args),
      release: (...args) => receipts!.release(...args),
      sweep: (...args) => receipts!.sweep(...args),
      ...fault(receipts!)
    }
  }))

/** The memory storage with some methods replaced within its transactions. */
const brokenInside =
  (fault: (sound: Storage<Thing>) => Partial<Storage<Thing>>): Open =>
    broken((outer) => ({
      transaction: (work, context) =>
        outer.transaction!((sound, handle) => work({ ...sound, ...fault(sound) }, handle), context)
    }))

const turnedTies = (order: Query['order']) =>
  order.map((by, index) => (index > 0 && index === order.length - 1 ? { ...by, descending: !by.descending } : by))

const faults: ReadonlyArray<{ readonly fault: string; readonly open: Open; readonly fails: readonly string[] }> = [
  {
    fault: 'compares, waits, then replaces',
    open: broken((sound) => ({
      async replace (id, item, expected, context) {
        const entry = await sound.find(id, context)
        if (entry !== undefined && expected !== undefined && entry.version !== expected) return { refused: 'stale' }
        await tick()
        return await sound.replace(id, item, undefined, context)
      }
    })),
    fails: ['exactly one of 20 parallel replaces with the same version succeeds']
  },
  {
    fault: 'returns synchronously if the item is missing',
    // A storage in JavaScript, without type checks.
    open: broken(() => ({ replace: () => ({ refused: 'not-found' }) as never })),
    fails: ['every method returns a promise']
  },
  {
    fault: 'compares, waits, then removes',
    open: broken((sound) => ({
      async remove (id, expected, context) {
        const entry = await sound.find(id, context)
        if (entry !== undefined && expected !== undefined && entry.version !== expected) return { refused: 'stale' }
        await tick()
        return await sound.remove(id, undefined, context)
      }
    })),
    fails: ['exactly one of parallel replaces and removes with the same version succeeds, whichever starts']
  },
  {
    fault: 'looks for the unique value, waits, then writes',
    open: (shape) => {
      const sound = memory()<Thing>({ ...shape, unique: [] })
      return {
        ...sound,
        async insert (draft, context) {
          const filter: Filter = { property: 'email', is: 'eq', value: String(draft['email']) }
          const { entries } = await sound.list({ ...query, filter }, context)
          if (entries.length > 0) return { refused: 'not-unique', properties: ['email'] }
          await tick()
          return await sound.insert(draft, context)
        }
      }
    },
    fails: ['exactly one of 20 parallel inserts with the same unique value succeeds']
  },
  {
    fault: 'forgets a unique property',
    open: (shape) => memory()({ ...shape, unique: shape.unique.slice(1) }),
    fails: [
      'insert with an existing unique value is refused as not unique, with the name of the property',
      'replace with the unique value of another item is refused as not unique, with the name of the property'
    ]
  },
  {
    fault: 'treats a unique set of properties as several',
    open: (shape) => memory()({ ...shape, unique: shape.unique.flat().map((property) => [property]) }),
    fails: ['a set of unique properties is refused only if all its values exist, with the names of all its properties']
  },
  {
    fault: 'counts versions from one after a re-create',
    open: broken((sound) => {
      const counts = new Map<Id, number>()
      const real = new Map<string, string>()
      const count = (entry: Entry<Thing>): Entry<Thing> => {
        const version = `${counts.get(entry.id)}`
        real.set(version, entry.version)
        return { ...entry, version }
      }
      const translate = (expected: string | undefined) =>
        expected === undefined ? undefined : (real.get(expected) ?? 'never')
      const outward = alterEntries(sound, count)
      return {
        ...outward,
        async insert (draft, context) {
          const result = await sound.insert(draft, context)
          if ('refused' in result) return result
          counts.set(result.id, 1)
          return count(result)
        },
        async replace (id, item, expected, context) {
          const result = await sound.replace(id, item, translate(expected), context)
          if ('refused' in result) return result
          counts.set(id, (counts.get(id) ?? 0) + 1)
          return count(result)
        },
        remove: (id, expected, context) => sound.remove(id, translate(expected), context)
      }
    }),
    fails: [
      'a version never repeats, not even after the item was deleted and created again',
      'the version of an item before it was deleted and created again is stale'
    ]
  },
  {
    fault: 'orders ties at random',
    open: broken((sound) => {
      let calls = 0
      return {
        list: (query, context) =>
          sound.list({ ...query, order: calls++ % 2 === 0 ? query.order : turnedTies(query.order) }, context)
      }
    }),
    fails: [
      'entries with equal values are ordered by the next property, the last of which is the id',
      'paging in any order, forward and backward, returns each entry once, with equal values and nulls'
    ]
  },
  {
    fault: 'ignores the scope in remove',
    open: broken((sound) => ({
      remove: (id, expected, context) => sound.remove(id, expected, { ...context, scope: undefined })
    })),
    fails: ['remove outside the scope is refused as not found and removes nothing, with any version']
  },
  {
    fault: 'ignores the scope in list',
    open: broken((sound) => ({ list: (query, context) => sound.list(query, { ...context, scope: undefined }) })),
    fails: [
      'list returns nothing outside the scope, with or without a filter',
      'the total counts nothing outside the scope'
    ]
  },
  {
    fault: 'drops properties that are null',
    open: broken((sound) =>
      alterEntries(sound, (entry) => ({
        ...entry,
        item: Object.fromEntries(Object.entries(entry.item).filter(([, value]) => value !== null))
      }))
    ),
    fails: ['an item is returned as it was stored: null', 'missing stays missing, and null stays null']
  },
  {
    fault: 'reports more entries if a page is exactly full',
    open: broken((sound) => ({
      async list (query, context) {
        const page = await sound.list(query, context)
        return { ...page, more: page.entries.length === query.limit }
      }
    })),
    fails: ['a page has as many entries as its limit, and reports whether more follow']
  },
  {
    fault: 'puts nulls first',
    open: broken((sound) => ({
      async list (query, context) {
        const page = await sound.list(query, context)
        const [{ property, descending } = { property: 'id', descending: false }] = query.order
        const isFirst = ({ item }: Entry<Thing>) => ((item[property] ?? null) === null) !== descending
        return {
          ...page,
          entries: [...page.entries.filter(isFirst), ...page.entries.filter((entry) => !isFirst(entry))]
        }
      }
    })),
    fails: ['null is greater than every value, and missing properties are ordered like null']
  },
  {
    fault: 'returns the farthest entries before a position',
    open: broken((sound) => ({
      async list (query, context) {
        if (query.before === undefined) return await sound.list(query, context)
        const { entries } = await sound.list({ ...query, limit: 1000 }, context)
        return { entries: entries.slice(0, query.limit), more: entries.length > query.limit }
      }
    })),
    fails: [
      'a page before a position has the nearest entries ahead of it, in order',
      'paging by id, forward and backward, returns each entry once'
    ]
  },
  {
    fault: 'treats % as *',
    open: broken((sound) =>
      rewriteFilters(sound, (filter) =>
        'is' in filter && filter.is === 'like' ? { ...filter, value: filter.value.replaceAll('%', '*') } : filter
      )
    ),
    fails: ['in like, * matches any characters, \\ escapes the next character, and all others are literal']
  },
  {
    fault: 'excludes null from ne',
    open: broken((sound) =>
      rewriteFilters(sound, (filter) =>
        'is' in filter && filter.is === 'ne'
          ? { all: [filter, { property: filter.property, is: 'null', value: false }] }
          : filter
      )
    ),
    fails: ['ne matches every other value, null and missing']
  },
  {
    fault: 'returns the objects that it stores',
    open: broken((sound) => {
      const mutable = new WeakMap<object, Entry<Thing>>()
      return alterEntries(sound, (entry) => {
        const known = mutable.get(entry) ?? structuredClone(entry)
        mutable.set(entry, known)
        return known
      })
    }),
    fails: ['a change to a returned entry does not change what is stored']
  },
  {
    fault: 'ignores the signal of a transaction',
    open: broken((sound) => ({ transaction: (work) => sound.transaction!(work, new AbortController()) })),
    fails: [
      'a transaction that is aborted ends at once, whatever its work does',
      'a transaction that is aborted before its commit begins is not committed',
      'a transaction that is aborted before it begins does not call its work',
      'a transaction that is aborted while it may wait for others writes nothing',
      'what is read and written after the end of a transaction is refused'
    ]
  },
  {
    fault: 'does not roll back',
    open: broken((sound) => ({ transaction: (work) => work(sound) })),
    fails: [
      'a transaction that rejects is rolled back, and its rejection is passed on',
      'what a transaction rolls back is never visible outside of it',
      'a transaction that rejects rolls back its response, and the claim stays'
    ]
  },
  {
    fault: 'does not compare versions in replaceMany',
    open: brokenInside((sound) => ({
      async replaceMany (replacements, context) {
        const entries: Array<Entry<Thing>> = []
        for (const { before, item } of replacements) {
          const result = await sound.replace(before.id, item, undefined, context)
          if ('refused' in result) return result.refused === 'not-found' ? { refused: 'stale' } : result
          entries.push(result)
        }
        return entries
      }
    })),
    fails: ['replaceMany and removeMany refuse all items if one has another version, if several are written at once']
  },
  {
    fault: 'ignores the scope in removeMany',
    open: brokenInside((sound) => ({
      removeMany: (entries, context) => sound.removeMany!(entries, { ...context, scope: undefined })
    })),
    fails: ['replaceMany and removeMany refuse items outside of the scope, if several are written at once']
  },
  {
    fault: 'leaves out items that do not exist in removeMany',
    open: brokenInside((sound) => ({
      async removeMany (entries, context) {
        for (const { id, version } of entries) {
          const refusal = await sound.remove(id, version, context)
          if (refusal !== undefined && refusal.refused !== 'not-found') return refusal
        }
        return undefined
      }
    })),
    fails: [
      'replaceMany and removeMany refuse all items if one does not exist, if several are written at once',
      'replaceMany and removeMany refuse items outside of the scope, if several are written at once'
    ]
  },
  {
    fault: 'returns the entries of replaceMany in another order',
    open: brokenInside((sound) => ({
      replaceMany: (replacements, context) => sound.replaceMany!(replacements.toReversed(), context)
    })),
    fails: [
      'replaceMany replaces each item, and returns the entries in their order, if several are written at once',
      'replaceMany stores the same values as replace, if several are written at once',
      'replaceMany and removeMany write as many items as there are, if several are written at once'
    ]
  },
  {
    fault: 'ignores letter case in find',
    open: broken((sound) => ({
      find: (id, context) => sound.find(typeof id === 'string' ? id.toLowerCase() : id, context)
    })),
    fails: ['find of an unknown id returns undefined', 'similar ids are different items']
  },
  {
    fault: 'counts the page only',
    open: broken((sound) => ({
      list: async (query, context) => {
        const page = await sound.list(query, context)
        return query.count ? { ...page, total: page.entries.length } : page
      }
    })),
    fails: ['the total is the number of all matching entries, whatever the page']
  },
  {
    fault: 'does not state what it supports',
    open: broken(({ supports }) => ({ supports: Object.freeze({ ...supports, search: false }) })),
    fails: ['the storage supports what it is tested for']
  },
  {
    fault: 'looks for a claim, waits, then claims',
    open: withReceipts((sound) => ({
      async claim (receipt, now, context) {
        const looked = { ...receipt, expires: 0 }
        const claim = await sound.claim(looked, now, context)
        await tick()
        if (claim === undefined) await sound.claim(receipt, now, context)
        return claim
      }
    })),
    fails: [
      'exactly one of parallel claims of a key succeeds, and the others get that claim',
      'exactly one of parallel claims of an expired key succeeds'
    ]
  },
  {
    fault: 'releases the claims of others',
    open: withReceipts((sound) => ({
      async release (receipt, context) {
        const claim = await sound.claim({ ...receipt, token: 'unknown' }, 0, context)
        await sound.release(claim ?? receipt, context)
      }
    })),
    fails: ['release removes only its own claim, and never a response']
  },
  {
    fault: 'stores the responses of a transaction outside of it',
    open: broken((sound) => ({
      transaction: (work, context) => {
        return sound.transaction!((inner) => work({ ...inner, receipts: sound.receipts! }), context)
      }
    })),
    fails: ['a transaction that rejects rolls back its response, and the claim stays']
  },
  {
    fault: 'sweeps everything',
    open: withReceipts((sound) => ({ sweep: (_, context) => sound.sweep(Infinity, context) })),
    fails: ['sweep removes expired receipts, and nothing else']
  },
  {
    fault: 'ignores the filter of related rows',
    open: broken((sound) => rewriteFilters(sound, (filter) => {
      return 'related' in filter ? { ...filter, related: { ...filter.related, filter: undefined } } : filter
    })),
    fails: [
      'a related condition finds the row with an id, if ids are text',
      'a related condition counts the rows of an id, if ids are integers'
    ]
  },
  {
    fault: 'returns no positions',
    open: broken((sound) => alterEntries(sound, ({ position, ...entry }) => entry)),
    fails: [
      'lists can be ordered by properties of related rows, and null if there is none, if ids are text',
      'an order by related rows applies together with a filter, a search and a total'
    ]
  },
  {
    fault: 'ignores the scope in listBy',
    open: broken((sound) => ({
      listBy: (by, query, context) => sound.listBy!(by, query, { ...context, scope: undefined })
    })),
    fails: ['listBy applies filter, search and scope, and counts each page']
  }
]

// A failure of another sentence can take seconds, to compare long lists.
const complete = new Set(sample(faults, 6, 0))
for (const known of faults) {
  const { fault, open, fails } = known
  test(`a storage that ${fault} does not pass`, async (t) => {
    const isComplete = complete.has(known)
    const { passed, failed } = await run(open, isComplete ? {} : { selects: (sentence) => fails.includes(sentence) })
    if (isComplete) t.ok(passed.length > failed.length, 'the correct parts pass')
    for (const sentence of fails) t.ok(failed.includes(sentence), sentence)
  })
}

test('a correct storage that opens asynchronously passes', async (t) => {
  const { passed, failed, skipped } = await run(async (shape) => {
    await tick()
    return memory()(shape)
  })
  t.ok(passed.length > 100)
  t.same([failed, skipped], [[], []])
})

test('a storage that states nothing about relations passes', async (t) => {
  const { passed, failed, skipped } = await run((shape) => {
    const { listBy, ...sound } = memory()<Thing>(shape)
    const { relations, ...supports } = sound.supports
    return { ...sound, supports: Object.freeze(supports) }
  })
  t.ok(passed.length > 100)
  t.same([failed, skipped], [[], []])
})

test('a storage that supports little passes, and skipped tests state the reason', async (t) => {
  const all = [
    'generatedIds', 'unique', 'filter', 'arrays', 'order', 'search', 'count', 'transactions', 'receipts'
  ] as const
  const { passed, failed, skipped } = await run((shape) => {
    const { transaction, receipts, ...sound } = memory()<Thing>({ ...shape, unique: [] })
    const supports = {
      generatedIds: false,
      unique: false,
      filter: false,
      order: false,
      search: false,
      count: false,
      transactions: false,
      receipts: false
    }
    return { ...sound, supports: Object.freeze(supports) }
  }, { unsupported: all })
  t.same(failed, [])
  t.ok(passed.length > 50)
  t.ok(skipped.every((sentence) => /\(skipped: does not support \w+(, \w+)*\)$/.test(sentence)))
  for (const name of all) {
    t.ok(
      skipped.some((sentence) => sentence.includes(name)),
      name
    )
  }
})

test('the suite runs under node:test and reports its skipped tests', async (t) => {
  const fixture = fileURLToPath(new URL('../fixtures/conformance-under-node-test.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...process.execArgv,
    '--test',
    '--test-reporter=tap',
    fixture
  ])
  t.match(stdout, /^# fail 0$/m)
  t.match(stdout, /^# pass [23]\d\d$/m)
  t.match(stdout, /ok \d+ - search looks only in the given properties \(skipped: does not support search\) # SKIP/)
})

import { randomBytes } from 'node:crypto'
import type { Id } from 'fastify-collections'
import type { Entry, Query, Refusal, Shape, Storage, Supports, Unreachable, Version } from 'fastify-collections/storage'

/** The part of a connected client of the package `redis` that the storage uses. */
export interface RedisClient {
  sendCommand (words: string[]): Promise<unknown>
}

const supports: Supports = Object.freeze({
  generatedIds: false,
  unique: false,
  filter: false,
  order: false,
  search: false,
  count: true,
  transactions: false,
  receipts: false
})

/** Stores items in Redis 6.2 or newer, without modules. The application connects the client and closes it. */
export function redis (client: RedisClient, prefix = '') {
  return <Item extends object>(shape: Shape): Storage<Item> => {
    const { property } = shape.id
    // In a cluster, the text in braces selects the node: all keys of a collection are on one.
    const [items, ids] = ['items', 'ids'].map((part) => `{${prefix}${shape.name}}:${part}`) as [string, string]
    const send = (...words: string[]) => toUnreachable(client.sendCommand(words))

    const write = async (
      method: 'insert' | 'replace' | 'remove',
      id: Id,
      item?: Readonly<Item>,
      expected?: Version
    ) => {
      const condition = expected === undefined ? '' : `=${expected}`
      const content = item === undefined ? '' : JSON.stringify(item)
      const version = randomBytes(12).toString('base64url')
      return String(await send('EVAL', writeScript, '2', items, ids, method, toKey(id), condition, content, version))
    }

    const parseEntry = (stored: unknown): Entry<Item> => {
      const text = String(stored)
      const space = text.indexOf(' ')
      const item = JSON.parse(text.slice(space + 1)) as Item // written by this storage
      return { id: getId(item, property), item, version: text.slice(0, space) }
    }

    return {
      name: 'redis',
      supports,

      async find (id) {
        const stored = await send('HGET', items, toKey(id))
        return stored === null ? undefined : parseEntry(stored)
      },

      async insert (draft) {
        const id = getId(draft, property)
        const result = await write('insert', id, draft)
        return result === 'not-unique'
          ? { refused: 'not-unique', properties: [property] }
          : { id, item: draft, version: result }
      },

      async replace (id, item, expected) {
        const result = await write('replace', id, item, expected)
        return refusals[result] ?? { id, item, version: result }
      },

      async remove (id, expected) {
        return refusals[await write('remove', id, undefined, expected)]
      },

      async list (query) {
        const backwards = query.before !== undefined
        const limit = ['LIMIT', '0', String(query.limit + 1)]
        const range = getRange(query, backwards)
        const found = await send('EVAL', readScript, '2', ids, items, ...range, ...limit) as unknown[] // a list
        const entries = found.slice(0, query.limit).map(parseEntry)
        const page = { entries: backwards ? entries.reverse() : entries, more: found.length > query.limit }
        return query.count ? { ...page, total: Number(await send('ZCARD', ids)) } : page
      }
    }
  }
}

/** Redis runs a script in one step: no other write can happen between the comparison and the write. */
const writeScript = `
local method, id, expected, content, version = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local stored = redis.call('HGET', KEYS[1], id)
if method == 'insert' then
  if stored then return 'not-unique' end
else
  if not stored then return 'not-found' end
  if expected ~= '' and expected ~= '=' .. string.match(stored, '^%S+') then return 'stale' end
end
if method == 'remove' then
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
  return 'removed'
end
redis.call('HSET', KEYS[1], id, version .. ' ' .. content)
redis.call('ZADD', KEYS[2], 0, id)
return version
`

const readScript = `
local ids = redis.call('ZRANGE', KEYS[1], unpack(ARGV))
if #ids == 0 then return ids end
return redis.call('HMGET', KEYS[2], unpack(ids))
`

const refusals: Readonly<Record<string, Refusal | undefined>> = {
  'not-found': Object.freeze({ refused: 'not-found' }),
  stale: Object.freeze({ refused: 'stale' })
}

/**
 * Redis orders members of equal score by their bytes, which in UTF-8 is the order of code points. Integers are stored
 * in a form that has the same order.
 */
function toKey (id: Id): string {
  return typeof id === 'number' ? String(BigInt(id) + 2n ** 53n).padStart(17, '0') : id
}

/** Where the page starts and ends, in the direction of reading. `(` excludes the position itself. */
function getRange ({ order: [first], after, before }: Query, backwards: boolean): string[] {
  // A position is an id, because lists have no other order.
  const bound = (position: Query['after'], open: string) =>
    position === undefined ? open : `(${toKey(position[0] as Id)}`
  const [up, down] = first?.descending === true ? [before, after] : [after, before]
  const [least, greatest] = [bound(up, '-'), bound(down, '+')]
  return (first?.descending === true) === backwards ? [least, greatest, 'BYLEX'] : [greatest, least, 'BYLEX', 'REV']
}

function getId (item: object, property: string): Id {
  return (item as Readonly<Record<string, Id>>)[property]! // every item has an id
}

/** Errors that a retry does not fix. All others are temporary: no connection, loading, a replica, out of memory. */
const permanent = /^(?:ERR|WRONGTYPE|NOAUTH|NOPERM|WRONGPASS)\b/

/** Marks temporary errors as such, for which clients get 503. */
async function toUnreachable (reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof Error && permanent.test(error.message)) throw error
    const unreachable: Unreachable = Object.assign(new Error('Redis is not reachable', { cause: error }), {
      unreachable: true as const,
      retryAfter: 1
    })
    throw unreachable
  }
}

import { randomBytes } from 'node:crypto'
import type { Entry, Id, Query, Refusal, Shape, Storage, Supports, Unreachable, Version } from 'fastify-collections'

/** What is used of a client of the package `redis`, which is handed in connected. */
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

/** Keeps items in a plain Redis 6.2 or newer, no modules needed. Who connected the client closes it. */
export function redis (client: RedisClient, prefix = '') {
  return <Item extends object>(shape: Shape): Storage<Item> => {
    const { property } = shape.id
    // What stands in braces decides on the node of a cluster: one for all keys of a collection.
    const [items, ids] = ['items', 'ids'].map((part) => `{${prefix}${shape.name}}:${part}`) as [string, string]
    const ask = (...words: string[]) => told(client.sendCommand(words))

    const write = async (how: 'insert' | 'replace' | 'remove', id: Id, { item, expected }: { item?: Readonly<Item>, expected?: Version | undefined }) => {
      const content = item === undefined ? '' : JSON.stringify(item)
      const version = randomBytes(12).toString('base64url')
      return String(await ask('EVAL', writing, '2', items, ids, how, keyOf(id), expected === undefined ? '' : `=${expected}`, content, version))
    }

    const read = (kept: unknown): Entry<Item> => {
      const text = String(kept)
      const space = text.indexOf(' ')
      const item = JSON.parse(text.slice(space + 1)) as Item // written by this storage
      return { id: idOf(item, property), item, version: text.slice(0, space) }
    }

    return {
      name: 'redis',
      supports,

      async find (id) {
        const kept = await ask('HGET', items, keyOf(id))
        return kept === null ? undefined : read(kept)
      },

      async insert (draft) {
        const id = idOf(draft, property)
        const answer = await write('insert', id, { item: draft })
        return answer === 'taken' ? { refused: 'not-unique', properties: [property] } : { id, item: draft, version: answer }
      },

      async replace (id, item, expected) {
        const answer = await write('replace', id, { item, expected })
        return refusals[answer] ?? { id, item, version: answer }
      },

      async remove (id, expected) {
        return refusals[await write('remove', id, { expected })]
      },

      async list (query) {
        const backwards = query.before !== undefined
        // A script that returns a list.
        const found = await ask('EVAL', reading, '2', ids, items, ...range(query, backwards), 'LIMIT', '0', String(query.limit + 1)) as unknown[]
        const entries = found.slice(0, query.limit).map(read)
        const page = { entries: backwards ? entries.reverse() : entries, more: found.length > query.limit }
        return query.count ? { ...page, total: Number(await ask('ZCARD', ids)) } : page
      }
    }
  }
}

/** Redis runs a script as one step: nothing comes between the compare and the write. */
const writing = `
local how, id, expected, content, version = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local kept = redis.call('HGET', KEYS[1], id)
if how == 'insert' then
  if kept then return 'taken' end
else
  if not kept then return 'absent' end
  if expected ~= '' and expected ~= '=' .. string.match(kept, '^%S+') then return 'stale' end
end
if how == 'remove' then
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
  return 'removed'
end
redis.call('HSET', KEYS[1], id, version .. ' ' .. content)
redis.call('ZADD', KEYS[2], 0, id)
return version
`

const reading = `
local ids = redis.call('ZRANGE', KEYS[1], unpack(ARGV))
if #ids == 0 then return ids end
return redis.call('HMGET', KEYS[2], unpack(ids))
`

const refusals: Readonly<Record<string, Refusal | undefined>> = { absent: Object.freeze({ refused: 'not-found' }), stale: Object.freeze({ refused: 'stale' }) }

/** Members of equal score are ordered byte by byte, which in UTF-8 is by code point: integers are written so that this is their order, too. */
function keyOf (id: Id): string {
  return typeof id === 'number' ? String(BigInt(id) + 2n ** 53n).padStart(17, '0') : id
}

/** Where to begin and where to end, in the direction of travel; `(` leaves the position itself out. */
function range ({ order: [first], after, before }: Query, backwards: boolean): string[] {
  const bound = (position: Query['after'], open: string) => position === undefined ? open : `(${keyOf(position[0] as Id)}` // ordered by the id alone
  const [up, down] = first?.descending === true ? [before, after] : [after, before]
  const [least, greatest] = [bound(up, '-'), bound(down, '+')]
  return (first?.descending === true) === backwards ? [least, greatest, 'BYLEX'] : [greatest, least, 'BYLEX', 'REV']
}

function idOf (item: object, property: string): Id {
  return (item as Readonly<Record<string, Id>>)[property]! // each item has its id
}

/** Answers that a retry does not mend. All else passes: no connection, still loading, a replica, out of memory. */
const lasting = /^(?:ERR|WRONGTYPE|NOAUTH|NOPERM|WRONGPASS)\b/

async function told (answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Error && lasting.test(error.message)) throw error
    const unreachable: Unreachable = Object.assign(new Error('Redis cannot be reached now', { cause: error }), { unreachable: true, retryAfter: 1 } as const)
    throw unreachable
  }
}

import { randomFillSync } from 'node:crypto'
import type { Version } from './contract.ts'

const length = 12
/** Random bytes for 256 versions: to ask for 12 at a time would take ten times as long. */
const pool = Buffer.alloc(256 * length)
let used = pool.length

/**
 * A version that never occurs twice, in this or another process, also not for an id that was deleted and created again.
 * It is random and not counted: clients see it in entity tags, and a counter would show them how much others write.
 */
export function createVersion (): Version {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const start = used
  used += length
  return pool.toString('base64url', start, used)
}

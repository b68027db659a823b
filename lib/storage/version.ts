import { randomFillSync } from 'node:crypto'
import type { Version } from './contract.ts'

const length = 12
/** Random bytes for 256 versions at a time: 12 at a time would take ten times as long. */
const pool = Buffer.alloc(256 * length)
let used = pool.length

/**
 * Creates a version that never occurs twice, in this or another process, not even for an id that was deleted and
 * created again. It is random: clients see it in entity tags, and a counter would show them how much others write.
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

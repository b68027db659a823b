import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Config } from './config.ts'

export type Caller = 'writer' | 'editor'

/** Tells who is calling by the key in `Authorization: Bearer`; a key that is not known is refused. */
export function callers ({ WRITER_KEY: writer, EDITOR_KEY: editor }: Config) {
  const keys = [['writer', digest(writer)], ['editor', digest(editor)]] as const
  return ({ headers: { authorization } }: FastifyRequest): Caller | undefined => {
    if (authorization === undefined) return undefined
    const given = digest(authorization.replace(/^bearer /i, ''))
    const known = keys.find(([, key]) => timingSafeEqual(key, given))
    if (known === undefined) throw new Error('The key is not known.')
    return known[0]
  }
}

/** Of one length, so that they can be compared in constant time. */
function digest (key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Config } from './config.ts'

export type Caller = 'writer' | 'editor'

/** Identifies the caller by the key in `Authorization: Bearer`. Unknown keys are refused. */
export function createAuthenticate ({ WRITER_KEY: writer, EDITOR_KEY: editor }: Config) {
  const keys = [
    ['writer', digest(writer)],
    ['editor', digest(editor)]
  ] as const
  return ({ request }: { request: FastifyRequest }): Caller | undefined => {
    const { authorization } = request.headers
    if (authorization === undefined) return undefined
    const given = digest(authorization.replace(/^bearer /i, ''))
    const known = keys.find(([, key]) => timingSafeEqual(key, given))
    if (known === undefined) throw new Error('The key is unknown.')
    return known[0]
  }
}

/** All digests have the same length, so that they can be compared in constant time. */
function digest (key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

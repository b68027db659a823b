import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Config } from './config.ts'

/** Identifies editors by the key in `Authorization: Bearer`. Unknown keys are refused. */
export function createAuthenticate ({ EDITOR_KEY: editor }: Config) {
  const key = digest(editor)
  return ({ request }: { request: FastifyRequest }): 'editor' | undefined => {
    const { authorization } = request.headers
    if (authorization === undefined) return undefined
    if (!timingSafeEqual(key, digest(authorization.replace(/^bearer /i, '')))) throw new Error('The key is unknown.')
    return 'editor'
  }
}

/** All digests have the same length, so that they can be compared in constant time. */
function digest (key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

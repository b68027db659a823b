import type { FastifyRequest } from 'fastify'
import { BadOption } from './errors.ts'

/** The id that an item has now, or another URI; undefined where nothing is known. */
export type MovedTo = string | number | { readonly href: string } | undefined

/** Told the segment of the path, decoded, which need not be what an id looks like today. */
export type Moved = (segment: string, request: FastifyRequest) => MovedTo | Promise<MovedTo>

export type MovedOption = Moved | { to: Moved, status?: 301 | 308 }

export interface Moves {
  readonly to: Moved
  readonly status: 301 | 308
}

export function movesOf (name: string, option: MovedOption | undefined): Moves | undefined {
  if (option === undefined) return undefined
  const { to, status = 301 } = typeof option === 'function' ? { to: option } : option
  if (typeof to !== 'function' || (status !== 301 && status !== 308)) throw new BadOption(name, 'moved is { to, status }, but moved.to is no function, or moved.status is neither 301 nor 308.')
  return { to, status }
}

import { BadOption } from './errors.ts'
import type { MovedOption, Moves } from './options.ts'

export function movesOf (name: string, option: MovedOption | undefined): Moves | undefined {
  if (option === undefined) return undefined
  const { to, status = 301 } = typeof option === 'function' ? { to: option } : option
  if (typeof to !== 'function' || (status !== 301 && status !== 308)) throw new BadOption(name, 'moved is { to, status }, but moved.to is no function, or moved.status is neither 301 nor 308.')
  return { to, status }
}

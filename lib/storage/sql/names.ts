import { hash } from 'node:crypto'

/** In bytes. PostgreSQL cuts off what is longer than 63, and MySQL refuses more than 64 characters. */
const maxLength = 60

const digestLength = 8

/** Returns the name, or a short one if it is too long. */
export function shortenName (name: string, parts: readonly string[]): string {
  return Buffer.byteLength(name) <= maxLength ? name : addDigest(name, parts)
}

/** Returns a name that only these parts have: the end of the given one, and a digest of the parts. */
export function addDigest (name: string, parts: readonly string[]): string {
  const digest = hash('sha256', JSON.stringify(parts)).slice(0, digestLength)
  const characters = [...name]
  while (Buffer.byteLength(characters.join('')) > maxLength - digestLength - 1) characters.shift()
  return `${digest}_${characters.join('')}`
}

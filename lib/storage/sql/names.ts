import { hash } from 'node:crypto'

/** In bytes. PostgreSQL cuts off what is longer than 63, and MySQL refuses more than 64 characters. */
const maxLength = 60

const digestLength = 8

/**
 * Builds the name of an index or a constraint from the names of its table and properties. Only these parts have it:
 * PostgreSQL and SQLite have one namespace for the indexes of all tables, and MySQL one for all foreign keys.
 */
export function buildName (parts: readonly string[], kind: string): string {
  const name = [...parts, kind].join('_')
  // The same name could have other parts: b_c of the table a, and c of the table a_b.
  const isAmbiguous = parts.some((part) => part.includes('_'))
  return isAmbiguous ? addDigest(name, parts) : shortenName(name, parts)
}

/** Returns the name, or a short one if it is too long. */
export function shortenName (name: string, parts: readonly string[]): string {
  return Buffer.byteLength(name) > maxLength ? addDigest(name, parts) : name
}

/** Returns the end of the name, after a digest of its parts. */
function addDigest (name: string, parts: readonly string[]): string {
  const digest = hash('sha256', JSON.stringify(parts)).slice(0, digestLength)
  const characters = [...name]
  while (Buffer.byteLength(characters.join('')) > maxLength - digestLength - 1) characters.shift()
  return `${digest}_${characters.join('')}`
}

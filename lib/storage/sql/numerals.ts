import type { JsonSchema } from '../contract.ts'

// A string with a pattern can be a decimal, such as "9.50". A column with numbers may return it with other digits.

/** Zeros, because some columns return fewer of them, and others more. Amounts of some currencies have 18. */
const fractions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 18].map((digits) => {
  return digits === 0 ? '' : `.${'0'.repeat(digits)}`
})

/** Patterns of rates begin with 0, and some have no leading 1. */
const integers = ['0', ...['1', '5'].flatMap((first) => {
  return Array.from({ length: 18 }, (_, index) => first.padEnd(index + 1, '0'))
})]

const numerals = ['', '-'].flatMap((sign) => integers.flatMap((integer) => fractions.map((fraction) => {
  return `${sign}${integer}${fraction}`
})))

/** A numeral that the schema allows, and what a column returns instead, which the schema does not allow. */
export interface ChangedNumeral {
  readonly sent: string
  readonly returned: string
}

/** `store` returns what a column returns for a numeral; undefined if it cannot store it. */
export function findChangedNumeral (
  schema: JsonSchema,
  store: (numeral: string) => string | undefined
): ChangedNumeral | undefined {
  const changed = numerals.flatMap((sent): ChangedNumeral[] => {
    const returned = store(sent)
    if (returned === undefined || returned === sent || !allows(schema, sent) || allows(schema, returned)) return []
    return [{ sent, returned }]
  })
  // The one with the most digits after the point: the type that the column should have keeps them all.
  return changed.sort((a, b) => countDecimals(b.sent) - countDecimals(a.sent))[0]
}

/** Whether the schema allows a text, as far as its length and its patterns tell. */
function allows (schema: JsonSchema, text: string): boolean {
  const { type, pattern, minLength = 0, maxLength = Infinity, anyOf, oneOf, allOf } = schema
  const branches = anyOf ?? oneOf
  if (Array.isArray(branches)) return branches.some((branch: JsonSchema) => allows(branch, text))
  if (type !== undefined && ![type].flat().includes('string')) return false
  if (text.length < Number(minLength) || text.length > Number(maxLength)) return false
  // With the flag that Ajv uses.
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(text)) return false
  return !Array.isArray(allOf) || allOf.every((part: JsonSchema) => allows(part, text))
}

/** Returns the numeral with so many digits after the point; undefined if it has too many before it. */
export function toScale (numeral: string, precision: number, scale: number): string | undefined {
  const [whole = '', decimals = ''] = numeral.split('.')
  if (whole.replace('-', '').length > precision - scale) return undefined
  return scale === 0 ? whole : `${whole}.${decimals.slice(0, scale).padEnd(scale, '0')}`
}

export function countDecimals (numeral: string): number {
  return numeral.split('.')[1]?.length ?? 0
}

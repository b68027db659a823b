// RFC 8259, section 6, and RFC 7493, section 2.2: whether a double keeps a number as it is written.

interface Decimal {
  readonly digits: string
  readonly exponent: number
}

/** Loops instead of patterns: /0+$/ takes quadratic time on a long run of zeros. */
function parseDecimal (literal: string): Decimal {
  const unsigned = literal.startsWith('-') ? literal.slice(1) : literal
  const [mantissa = '', power = '0'] = unsigned.toLowerCase().split('e')
  const [integer = '', fraction = ''] = mantissa.split('.')
  const digits = integer + fraction
  let first = 0
  while (digits[first] === '0') first++
  let last = digits.length
  while (last > first && digits[last - 1] === '0') last--
  const exponent = last === first ? 0 : Number(power) - fraction.length + digits.length - last
  return { digits: digits.slice(first, last), exponent }
}

/** Whether the nearest double, in its shortest form, has the same value as a JSON number. */
export function isExactDouble (literal: string): boolean {
  const shortest = String(Number(literal))
  if (shortest === literal) return true
  const written = parseDecimal(literal)
  const kept = parseDecimal(shortest)
  return written.digits === kept.digits && written.exponent === kept.exponent
}

/**
 * Explains why a number is refused that is not exact. 2^62 is a double, but its shortest form is 4611686018427388000,
 * so the client would get another number back.
 */
export function explainInexact (literal: string): string {
  const value = Number(literal)
  return Number.isFinite(value) ? `would be returned as ${value}` : 'is too large for a double'
}

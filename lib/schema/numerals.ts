import type { JsonSchema } from '../storage/contract.ts'

// Decimals are often text, to be exact: "9.50". The order of texts is not theirs: "10.00" comes before "9.50".

/** Numerals of up to so many digits before and after the point, or the comma. */
const wholes = Array.from({ length: 12 }, (_, index) => index + 1)
const fractions = [0, 1, 2, 3, 4, 6, 8]

function * numerals (): Generator<{ readonly text: string, readonly value: number }> {
  for (const sign of ['', '-']) {
    for (const digits of wholes) {
      for (const whole of ['1'.padEnd(digits, '0'), '9'.repeat(digits)]) {
        for (const count of fractions) {
          for (const point of count === 0 ? [''] : ['.', ',']) {
            yield { text: `${sign}${whole}${point}${'5'.repeat(count)}`, value: Number(`${sign}${whole}.${'5'.repeat(count)}`) }
          }
        }
      }
    }
  }
}

/** Texts with digits that are no numerals: codes, versions, dates, times, amounts with a unit. */
const others = ['a', 'A', 'a1', '1a', 'A-1', '0x1f', 'v1', '1.2.3', '1,2,3', '1-2', '12-34', '12345-6789', '2026-01', '2026-01-01', '12:30', '1 2', '1/2', '1 EUR', '9.50 EUR', '#1', '_', '']

/**
 * Whether a text of the schema is always a numeral, and the order of such texts is not that of the numbers: they have
 * different lengths, or signs. Numerals of one length, such as postcodes, are in order.
 */
export function isUnorderedNumeral ({ type, pattern, minLength = 0, maxLength = Infinity, enum: values }: JsonSchema): boolean {
  if (![type].flat().includes('string') || typeof pattern !== 'string' || values !== undefined) return false
  // As Ajv reads it.
  const expression = new RegExp(pattern, 'u')
  const isPhoneNumber = expression.test('+491234567') && !expression.test('-491234567')
  if (isPhoneNumber || others.some(text => expression.test(text))) return false
  const taken = [...numerals()]
    .filter(({ text }) => text.length >= Number(minLength) && text.length <= Number(maxLength) && expression.test(text))
    .sort((one, other) => one.value - other.value)
  return taken.some(({ text, value }, index) => index > 0 && value > taken[index - 1]!.value && text < taken[index - 1]!.text)
}

/** What is wrong with an option that orders by such a property, and what to do. */
export function unorderedNumeral (option: string, property: string): string {
  return `${option} names "${property}", whose values are numbers written as text: "10.00" would come before "9.50". Store the smallest unit as an integer, such as cents, or use a number; or remove it from ${option}.`
}

import type { JsonSchema } from '../storage/contract.ts'

// Exact decimals are often strings, such as "9.50". Strings have another order: "10.00" comes before "9.50".

/** How many digits the sample numerals have before and after the decimal separator. */
const integerDigits = Array.from({ length: 12 }, (_, index) => index + 1)
const fractionDigits = [0, 1, 2, 3, 4, 6, 8]

function * createNumerals (): Generator<{ readonly text: string, readonly value: number }> {
  for (const sign of ['', '-']) {
    for (const digits of integerDigits) {
      for (const integer of ['1'.padEnd(digits, '0'), '9'.repeat(digits)]) {
        for (const count of fractionDigits) {
          const fraction = '5'.repeat(count)
          for (const separator of count === 0 ? [''] : ['.', ',']) {
            yield {
              text: `${sign}${integer}${separator}${fraction}`,
              value: Number(`${sign}${integer}.${fraction}`)
            }
          }
        }
      }
    }
  }
}

/** Strings with digits that are not numerals: codes, versions, dates, times, amounts with a unit. */
const otherStrings = [
  'a', 'A', 'a1', '1a', 'A-1', '0x1f', 'v1', '1.2.3', '1,2,3', '1-2', '12-34', '12345-6789', '2026-01', '2026-01-01',
  '12:30', '1 2', '1/2', '1 EUR', '9.50 EUR', '#1', '_', ''
]

/**
 * Whether the schema allows only numerals whose order as strings is not their order as numbers: they have different
 * lengths or signs. Numerals of one length, such as postal codes, have the same order.
 */
export function isUnorderedNumeral (schema: JsonSchema): boolean {
  const { type, pattern, minLength = 0, maxLength = Infinity, enum: values } = schema
  if (![type].flat().includes('string') || typeof pattern !== 'string' || values !== undefined) return false
  // With the flag that Ajv uses.
  const expression = new RegExp(pattern, 'u')
  const isPhoneNumber = expression.test('+491234567') && !expression.test('-491234567')
  if (isPhoneNumber || otherStrings.some((text) => expression.test(text))) return false

  const isAllowed = (text: string): boolean => {
    return text.length >= Number(minLength) && text.length <= Number(maxLength) && expression.test(text)
  }
  const allowed = [...createNumerals()]
    .filter(({ text }) => isAllowed(text))
    .sort((one, other) => one.value - other.value)
  return allowed.some(({ text, value }, index) => {
    const previous = allowed[index - 1]
    return previous !== undefined && value > previous.value && text < previous.text
  })
}

/** Returns the error message for an option that orders by such a property. */
export function describeUnorderedNumeral (option: string, property: string): string {
  return `${option} names "${property}", whose values are numbers written as text: "10.00" would come before "9.50". ` +
    `Store the smallest unit as an integer, such as cents, or use a number; or remove it from ${option}.`
}

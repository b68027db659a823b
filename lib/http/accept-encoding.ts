// RFC 9110, section 12.5.3: Accept-Encoding.
import { splitList } from './grammar.ts'

/**
 * Whether the client names this content coding, or `*`, and does not exclude it. Without the header every coding is
 * acceptable, but servers send content as it is then.
 */
export function isCodingAccepted (field: string | undefined, coding: string): boolean {
  if (field === undefined) return false
  let isAccepted = false
  for (const element of splitList(field.toLowerCase(), ',')) {
    const [name, ...parameters] = splitList(element, ';')
    const hasWeight = !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter))
    if (name === coding) return hasWeight
    if (name === '*') isAccepted = hasWeight
  }
  return isAccepted
}

// RFC 7240: Prefer and Preference-Applied.

import { split, word } from './grammar.ts'

export interface Preferences {
  /** §4.2 */
  readonly return?: 'minimal' | 'representation'
  /** §4.4 */
  readonly handling?: 'strict' | 'lenient'
  readonly count?: 'exact'
}

const none: Preferences = Object.freeze({})

const known: ReadonlyMap<string, Preferences> = new Map<string, Preferences>([
  ['return=minimal', Object.freeze({ return: 'minimal' })],
  ['return=representation', Object.freeze({ return: 'representation' })],
  ['handling=strict', Object.freeze({ handling: 'strict' })],
  ['handling=lenient', Object.freeze({ handling: 'lenient' })],
  ['count=exact', Object.freeze({ count: 'exact' })]
])

/** What is malformed or unknown is left out (§2). */
export function preferences (field: string | undefined): Preferences {
  if (field === undefined) return none
  const only = known.get(field)
  if (only !== undefined) return only
  let preferred = none
  const seen = new Set<string>()
  for (const member of split(field, ',')) {
    const [preference = ''] = split(member, ';')
    const [name, value] = parts(preference)
    // §2: only the first of several instances counts, be it understood or not.
    if (seen.has(name)) continue
    seen.add(name)
    preferred = { ...preferred, ...known.get(`${name}=${value}`) }
  }
  return preferred
}

function parts (preference: string): [name: string, value: string | undefined] {
  const equals = preference.indexOf('=')
  if (equals === -1) return [preference.toLowerCase(), undefined]
  return [preference.slice(0, equals).trim().toLowerCase(), word(preference.slice(equals + 1).trim())]
}

/** §3: Preference-Applied; undefined where no preference was followed. */
export function applied (followed: Preferences): string | undefined {
  let field: string | undefined
  for (const [name, value] of Object.entries(followed)) {
    field = field === undefined ? `${name}=${value}` : `${field}, ${name}=${value}`
  }
  return field
}

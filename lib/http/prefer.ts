// RFC 7240: Prefer and Preference-Applied.

import { parseWord, splitList } from './grammar.ts'

export interface Preferences {
  /** RFC 7240, section 4.2. */
  readonly return?: 'minimal' | 'representation'
}

const none: Preferences = Object.freeze({})

const known: ReadonlyMap<string, Preferences> = new Map<string, Preferences>([
  ['return=minimal', Object.freeze({ return: 'minimal' })],
  ['return=representation', Object.freeze({ return: 'representation' })]
])

/** Parses Prefer. Malformed and unknown preferences are ignored (RFC 7240, section 2). */
export function parsePreferences (field: string | undefined): Preferences {
  if (field === undefined) return none
  const single = known.get(field)
  if (single !== undefined) return single
  let preferences = none
  const seen = new Set<string>()
  for (const element of splitList(field, ',')) {
    const [preference = ''] = splitList(element, ';')
    const { name, value } = parsePreference(preference)
    // RFC 7240, section 2: only the first of several instances counts, even if it is unknown.
    if (seen.has(name)) continue
    seen.add(name)
    preferences = { ...preferences, ...known.get(`${name}=${value}`) }
  }
  return preferences
}

function parsePreference (preference: string): { name: string, value: string | undefined } {
  const equals = preference.indexOf('=')
  if (equals === -1) return { name: preference.toLowerCase(), value: undefined }
  return {
    name: preference.slice(0, equals).trim().toLowerCase(),
    value: parseWord(preference.slice(equals + 1).trim())
  }
}

/** Formats Preference-Applied (RFC 7240, section 3); undefined if no preference was applied. */
export function formatPreferenceApplied (applied: Preferences): string | undefined {
  let field: string | undefined
  for (const [name, value] of Object.entries(applied)) {
    field = field === undefined ? `${name}=${value}` : `${field}, ${name}=${value}`
  }
  return field
}

// RFC 9110 §10.2.2: Location.

// RFC 3986 §2: what cannot be part of a URI. A browser reads a backslash as a slash, so that none may pass.
const unfit = /[^\w.~:/?#[\]@!$&'()*+,;=%-]/gu

/** A reference as the field may have it, with the query of the request where it has none of its own. */
export function location (reference: string, search = ''): string {
  const queried = search === '' || /[?#]/.test(reference) ? reference : `${reference}?${search}`
  return queried.replace(unfit, character => Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&'))
}

// RFC 9110, section 10.2.2: Location.

// RFC 3986, section 2: characters that a URI cannot contain. A backslash must not pass: browsers read it as a slash.
const invalidInUri = /[^\w.~:/?#[\]@!$&'()*+,;=%-]/gu

/** Formats the value of Location. A reference without a query gets the query of the request. */
export function formatLocation (reference: string, search = ''): string {
  const withQuery = search === '' || /[?#]/.test(reference) ? reference : `${reference}?${search}`
  return withQuery.replace(invalidInUri, percentEncode)
}

function percentEncode (character: string): string {
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&')
}

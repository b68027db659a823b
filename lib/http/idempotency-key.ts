// draft-ietf-httpapi-idempotency-key-header-07: Idempotency-Key, a String of RFC 9651.

const maxLength = 255

// RFC 9651, section 3.3.3: printable ASCII, in which a quote and a backslash are escaped by a backslash.
const string = '"(?:[ !#-[\\]-~]|\\\\["\\\\])*"'

// RFC 9651, sections 3.1.2 and 3.3: parameters have no meaning here, but are allowed.
const bareItem = '(?:' + [
  '-?\\d+(?:\\.\\d+)?',
  `%?${string}`,
  "[A-Za-z*][!#$%&'*+.^_`|~:/0-9A-Za-z-]*",
  ':[A-Za-z0-9+/=]*:',
  '\\?[01]',
  '@-?\\d+'
].join('|') + ')'
const parameters = `(?: *; *[a-z*][a-z0-9_.*-]*(?:=${bareItem})?)*`

const itemPattern = new RegExp(`^(${string})${parameters}$`)

/** What most clients send: an identifier without quotes. */
const barePattern = /^[!#$%&'*+.^_`|~:/=0-9A-Za-z-]+$/

/** Returns the key without quotes; undefined if it is malformed. */
export function parseIdempotencyKey (field: string): string | undefined {
  const quoted = itemPattern.exec(field)?.[1]
  const key = quoted === undefined ? barePattern.exec(field)?.[0] : quoted.slice(1, -1).replace(/\\(.)/g, '$1')
  return key === undefined || key === '' || key.length > maxLength ? undefined : key
}

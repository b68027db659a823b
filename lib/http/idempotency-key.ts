// The Idempotency-Key HTTP Header Field (draft-ietf-httpapi-idempotency-key-header-07): a String of RFC 9651.

/** More than any identifier needs. */
const longest = 255

// RFC 9651 §3.3.3: printable ASCII, in which a quote and a backslash stand behind a backslash.
const string = '"(?:[ !#-[\\]-~]|\\\\["\\\\])*"'

// §3.3: what a parameter can be; §3.1.2: parameters say nothing here, but make nothing malformed either.
const bareItem = `(?:-?\\d+(?:\\.\\d+)?|%?${string}|[A-Za-z*][!#$%&'*+.^_\`|~:/0-9A-Za-z-]*|:[A-Za-z0-9+/=]*:|\\?[01]|@-?\\d+)`
const parameters = `(?: *; *[a-z*][a-z0-9_.*-]*(?:=${bareItem})?)*`

const item = new RegExp(`^(${string})${parameters}$`)

/** What most clients send: an identifier without quotes. */
const bare = /^[!#$%&'*+.^_`|~:/=0-9A-Za-z-]+$/

/** The key, with or without quotes the same; undefined where it is malformed. */
export function idempotencyKey (field: string): string | undefined {
  const quoted = item.exec(field)?.[1]
  const key = quoted === undefined ? bare.exec(field)?.[0] : quoted.slice(1, -1).replace(/\\(.)/g, '$1')
  return key === undefined || key === '' || key.length > longest ? undefined : key
}

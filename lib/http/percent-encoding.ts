/**
 * Whether a text is percent-encoded UTF-8, in which two hexadecimal digits follow each percent sign (RFC 3986, section
 * 2.1). The decoded text is used, because bundlers drop the call otherwise.
 */
export function isDecodable (text: string): boolean {
  try {
    return typeof decodeURIComponent(text) === 'string'
  } catch {
    return false
  }
}

// RFC 9110, section 7.2: Host.
import { isIPv6 } from 'node:net'

/** RFC 3986, section 3.2.2: a name or an IPv4 address, or an address in brackets. An empty name is valid. */
const pattern = /^(?:\[(?<address>[^\]]*)\]|(?:[\w.~!$&'()*+,;=-]|%[\dA-Fa-f]{2})*)(?::\d*)?$/

/** RFC 3986, section 3.2.2: an address of a version that does not exist yet. */
const futureAddress = /^v[\dA-Fa-f]+\.[\w.~!$&'()*+,;=:-]+$/

/** Whether the value of Host is a host, with or without a port. */
export function isValidHost (value: string): boolean {
  const match = pattern.exec(value)
  if (match === null) return false
  const address = match.groups?.address
  return address === undefined || isIPv6(address) || futureAddress.test(address)
}

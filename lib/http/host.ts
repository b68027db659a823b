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

/** RFC 3986, sections 6.2.2 and 6.2.3: whether two valid values name the same host and port. */
export function isSameHost (one: string, other: string, scheme: string | undefined): boolean {
  return one === other || normalizeHost(one, scheme) === normalizeHost(other, scheme)
}

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' }

function normalizeHost (value: string, scheme: string | undefined): string {
  const host = value.toLowerCase().replace(/:$/, '')
  const port = `:${defaultPorts[scheme ?? '']}`
  return host.endsWith(port) ? host.slice(0, -port.length) : host
}

// RFC 9110, section 10.2.1: Allow.

const order = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY', 'OPTIONS']

/** Builds the value of Allow from the methods that a URI supports. */
export function buildAllow (methods: Iterable<string>): string {
  const supported = new Set(methods)
  return order.filter((method) => supported.has(method)).join(', ')
}

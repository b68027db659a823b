// RFC 9110 section 10.2.1: the methods a URI takes.

const order = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY', 'OPTIONS']

export function allow (methods: Iterable<string>): string {
  const taken = new Set(methods)
  return order.filter(method => taken.has(method)).join(', ')
}

// What a function of an app can throw: everything.

function throwing (): never {
  throw new Error('a getter or trap that throws')
}

function withGetter (name: string): Error {
  return Object.defineProperty(new Error('with a getter that throws'), name, { get: throwing })
}

function revoked (): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const traps: ProxyHandler<Error> = { get: throwing, has: throwing, getPrototypeOf: throwing, ownKeys: throwing }

/** Each is created for its own use, since some are changed by what handles them. */
export const thrownValues: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  zero: () => 0,
  'an empty string': () => '',
  'a string': () => 'text',
  'a number': () => 42,
  'a bigint': () => 10n,
  'a symbol': () => Symbol('thrown'),
  'a boolean': () => false,
  'a function': () => () => {},
  'an array': () => ['23505'],
  'an object': () => ({ code: 20 }),
  'an object without a prototype': () => Object.create(null),
  'a frozen error': () => Object.freeze(new Error('frozen')),
  'an AbortError': () => new DOMException('The operation was aborted', 'AbortError'),
  'an error with a numeric code': () => Object.assign(new Error('14 UNAVAILABLE'), { code: 14 }),
  'an error with a symbol as its code': () => Object.assign(new Error('odd'), { code: Symbol('code') }),
  'an error with an object as its code': () => Object.assign(new Error('odd'), { code: {}, errno: {}, errcode: {} }),
  'an error with a null code': () => Object.assign(new Error('odd'), { code: null, errno: null, errcode: null }),
  'an error with other types': () => Object.assign(new Error('odd'), { errno: Symbol('errno'), errcode: 5n }),
  'an error without a message': () => Object.assign(new Error('odd'), { message: undefined }),
  'an error with a getter for the code': () => withGetter('code'),
  'an error with a getter for the message': () => withGetter('message'),
  'an error with a getter for the errno': () => withGetter('errno'),
  'an error with a getter for the errcode': () => withGetter('errcode'),
  'an error with a getter for the cause': () => withGetter('cause'),
  'an error with a getter for unreachable': () => withGetter('unreachable'),
  'an error with a getter for the refusal': () => withGetter('refusal'),
  'an error with a getter for the status': () => withGetter('statusCode'),
  'an error with a getter for then': () => withGetter('then'),
  'an error in a proxy': () => new Proxy(new Error('in a proxy'), {}),
  'a proxy that throws': () => new Proxy(new Error('in a proxy'), traps),
  'a revoked proxy': revoked
}

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import { test } from 'tap'
import { applyJsonPatch, PatchRefusal } from '../../lib/http/json-patch.ts'
import { escapePointer, parsePointer, toPointer } from '../../lib/http/json-pointer.ts'
import { isEqual } from '../../lib/http/json-value.ts'
import { applyMergePatch } from '../../lib/http/merge-patch.ts'

interface Vector {
  readonly comment?: string
  readonly doc: unknown
  readonly patch: unknown
  readonly expected?: unknown
  readonly error?: string
}

const load = createRequire(import.meta.url)

/** Freezes at all depths, so that a change of the argument throws. */
function freeze<Value> (value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze)
  return value
}

function refusal (document: unknown, operations: unknown): PatchRefusal | undefined {
  try {
    applyJsonPatch(freeze(document), freeze(operations))
    return undefined
  } catch (thrown) {
    if (thrown instanceof PatchRefusal) return thrown
    throw thrown
  }
}

/** Returns the own property `__proto__`, if there is one. */
function getOwnProto (value: unknown): unknown {
  return Object.getOwnPropertyDescriptor(value, '__proto__')?.value
}

test('JSON Pointers are parsed and written (RFC 6901)', async (t) => {
  for (const [text, segments] of [
    ['', []],
    ['/foo', ['foo']],
    ['/foo/0', ['foo', '0']],
    ['/', ['']],
    ['/a~1b', ['a/b']],
    ['/c%d', ['c%d']],
    ['/e^f', ['e^f']],
    ['/g|h', ['g|h']],
    ['/i\\j', ['i\\j']],
    ['/k"l', ['k"l']],
    ['/ ', [' ']],
    ['/m~0n', ['m~n']],
    ['/~01', ['~1']],
    ['//', ['', '']]
  ] as const) {
    t.strictSame(parsePointer(text), segments, text)
    t.equal(toPointer(segments), text)
  }
  for (const text of ['a', 'a/b', '#/a', '/~', '/a~2', '/~/0']) t.equal(parsePointer(text), undefined, text)
  t.equal(toPointer(['a', 0, 'b/c']), '/a/0/b~1c')
  t.equal(escapePointer('~/'), '~0~1')
  fc.assert(
    fc.property(fc.array(fc.string()), (segments) => {
      assert.deepEqual(parsePointer(toPointer(segments)), segments)
    })
  )
})

test('every example is applied as specified (RFC 7396, appendix A)', async (t) => {
  for (const [target, patch, result] of [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd']
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }]
  ]) {
    t.strictSame(applyMergePatch(freeze(target), freeze(patch)), result, JSON.stringify([target, patch]))
  }
})

test('the example document is patched as specified (RFC 7396, section 3)', async (t) => {
  const target = {
    title: 'Goodbye!',
    author: { givenName: 'John', familyName: 'Doe' },
    tags: ['example', 'sample'],
    content: 'This will be unchanged'
  }
  const patch = { title: 'Hello!', phoneNumber: '+01-123-456-7890', author: { familyName: null }, tags: ['example'] }
  t.strictSame(applyMergePatch(freeze(target), freeze(patch)), {
    title: 'Hello!',
    author: { givenName: 'John' },
    tags: ['example'],
    content: 'This will be unchanged',
    phoneNumber: '+01-123-456-7890'
  })
})

test('names of Object.prototype are ordinary members (RFC 7396)', async (t) => {
  const result = applyMergePatch(
    {},
    JSON.parse('{"__proto__":{"polluted":1,"gone":null},"constructor":{"a":1},"toString":{"b":2}}')
  )
  t.strictSame(getOwnProto(result), { polluted: 1 })
  t.equal(JSON.stringify(result), '{"__proto__":{"polluted":1},"constructor":{"a":1},"toString":{"b":2}}')
  t.equal(Object.getPrototypeOf(result), Object.prototype)
  t.equal(Reflect.get({}, 'polluted'), undefined)
  const merged = applyMergePatch(JSON.parse('{"__proto__":{"a":1,"b":2}}'), JSON.parse('{"__proto__":{"b":null}}'))
  t.strictSame(getOwnProto(merged), { a: 1 })
  t.equal(
    JSON.stringify(applyMergePatch(JSON.parse('{"__proto__":1,"a":2}'), JSON.parse('{"__proto__":null}'))),
    '{"a":2}'
  )
})

test('every case of the official test vectors passes (RFC 6902)', async (t) => {
  for (const file of ['tests.json', 'spec_tests.json']) {
    const vectors: Vector[] = load(`json-patch-test-suite/${file}`)
    // Parsed JSON has no duplicate names; the parser refuses them.
    for (const vector of vectors.filter(({ error = '' }) => !error.includes("two 'op' members"))) {
      const name = `${file}: ${vector.comment ?? JSON.stringify(vector.patch)}`
      if (vector.error !== undefined) t.type(refusal(vector.doc, vector.patch), PatchRefusal, name)
      else if (vector.expected !== undefined) {
        t.strictSame(applyJsonPatch(freeze(vector.doc), freeze(vector.patch)), vector.expected, name)
      } else t.doesNotThrow(() => applyJsonPatch(freeze(vector.doc), freeze(vector.patch)), name)
    }
  }
})

test('an invalid patch is malformed, regardless of the document (RFC 6902, sections 3 and 4)', async (t) => {
  for (const [operations, index, detail] of [
    [{}, 0, 'A JSON Patch is an array of operations.'],
    [undefined, 0, 'A JSON Patch is an array of operations.'],
    [[{ op: 'test', path: '', value: {} }, null], 1, 'An operation is an object.'],
    [[[]], 0, 'An operation is an object.'],
    [[{ path: '/a' }], 0, 'An operation has "op": add, remove, replace, move, copy, test.'],
    [[{ op: 'toString', path: '/a' }], 0, 'An operation has "op": add, remove, replace, move, copy, test.'],
    [[{ op: 'remove' }], 0, 'The operation needs a "path".'],
    [[{ op: 'remove', path: ['a'] }], 0, 'The operation needs a "path".'],
    [[{ op: 'remove', path: 'a' }], 0, 'The "path" is not a JSON Pointer.'],
    [[{ op: 'copy', path: '/a' }], 0, 'The operation needs a "from".'],
    [[{ op: 'move', from: '~', path: '/a' }], 0, 'The "from" is not a JSON Pointer.'],
    [[{ op: 'add', path: '/a' }], 0, 'The operation needs a "value".'],
    [[{ op: 'replace', path: '/a' }], 0, 'The operation needs a "value".'],
    [
      [
        { op: 'remove', path: '/absent' },
        { op: 'test', path: '/a' }
      ],
      1,
      'The operation needs a "value".'
    ],
    [[{ op: 'add', path: '/__proto__/a', value: 1 }], 0, 'The "path" cannot name "__proto__".'],
    [[{ op: 'copy', from: '/__proto__', path: '/a' }], 0, 'The "from" cannot name "__proto__".'],
    [[{ op: 'move', from: '/a', path: '/a/b' }], 0, 'A value cannot be moved into itself.'],
    [[{ op: 'move', from: '', path: '/a' }], 0, 'A value cannot be moved into itself.']
  ] as const) {
    const { kind, detail: actual, index: at } = refusal({ a: {} }, operations) ?? {}
    t.strictSame([kind, actual, at], ['malformed', detail, index], JSON.stringify(operations))
  }
})

test('an operation that cannot be applied is inapplicable and names its location (RFC 6902, section 4)', async (t) => {
  for (const [operation, detail] of [
    [{ op: 'remove', path: '/x' }, 'There is no such member.'],
    [{ op: 'remove', path: '' }, 'The whole document cannot be removed.'],
    [{ op: 'replace', path: '/x', value: 1 }, 'There is no such member.'],
    [{ op: 'replace', path: '/toString', value: 1 }, 'There is no such member.'],
    [{ op: 'add', path: '/x/y', value: 1 }, 'There is no such member.'],
    [{ op: 'add', path: '/text/y', value: 1 }, 'The parent of the location is not an array or object.'],
    [{ op: 'add', path: '/nothing/y', value: 1 }, 'The parent of the location is not an array or object.'],
    [{ op: 'test', path: '/text/length', value: 4 }, 'The parent of the location is not an array or object.'],
    [{ op: 'test', path: '/list/length', value: 2 }, 'There is no such index.'],
    [{ op: 'add', path: '/list/3', value: 1 }, 'There is no such index.'],
    [{ op: 'add', path: '/list/00', value: 1 }, 'There is no such index.'],
    [{ op: 'add', path: '/list/-1', value: 1 }, 'There is no such index.'],
    [{ op: 'add', path: '/list/1e0', value: 1 }, 'There is no such index.'],
    [{ op: 'replace', path: '/list/2', value: 1 }, 'There is no such index.'],
    [{ op: 'replace', path: '/list/-', value: 1 }, 'There is no such index.'],
    [{ op: 'remove', path: '/list/-' }, 'There is no such index.']
  ] as const) {
    t.strictSame(
      {
        ...refusal({ text: 'text', nothing: null, list: [1, 2] }, [
          { op: 'test', path: '/list/0', value: 1 },
          operation
        ])
      },
      { kind: 'inapplicable', detail, index: 1, pointer: operation.path },
      JSON.stringify(operation)
    )
  }
  t.match(refusal({ a: 1 }, [{ op: 'copy', from: '/x', path: '/a' }]), { kind: 'inapplicable', pointer: '/x' })
  t.match(refusal({ a: 1 }, [{ op: 'move', from: '/x', path: '/x' }]), { kind: 'inapplicable', pointer: '/x' })
})

test('a test operation compares values, regardless of the order of members (RFC 6902, section 4.6)', async (t) => {
  for (const [one, other, same] of [
    [1, 1.0, true],
    [0, -0, true],
    [1, '1', false],
    [null, null, true],
    [null, {}, false],
    [{}, [], false],
    [[], {}, false],
    [[1], [1, 2], false],
    [[1, 2], [2, 1], false],
    [{ a: 1, b: [{ c: 2 }] }, { b: [{ c: 2 }], a: 1 }, true],
    [{ a: 1 }, { b: 1 }, false],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ toString: 1 }, { a: 1 }, false]
  ] as const) {
    t.equal(isEqual(one, other), same, JSON.stringify([one, other]))
    t.equal(refusal({ a: one }, [{ op: 'test', path: '/a', value: other }])?.kind, same ? undefined : 'test')
  }
  t.strictSame(
    { ...refusal({ a: 1 }, [{ op: 'test', path: '/a', value: 2 }]) },
    { kind: 'test', detail: 'The value differs from the one that the operation expects.', index: 0, pointer: '/a' }
  )
})

test('operations can apply to the whole document (RFC 6902, section 4)', async (t) => {
  t.strictSame(applyJsonPatch({ a: 1 }, []), { a: 1 })
  t.equal(applyJsonPatch({ a: 1 }, [{ op: 'add', path: '', value: 'x' }]), 'x')
  t.equal(applyJsonPatch({ a: 1 }, [{ op: 'replace', path: '', value: null }]), null)
  t.equal(applyJsonPatch({ a: 1 }, [{ op: 'move', from: '/a', path: '' }]), 1)
  t.strictSame(applyJsonPatch({ a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '' }]), { b: 1 })
  t.strictSame(applyJsonPatch({ a: 1 }, [{ op: 'copy', from: '', path: '/b' }]), { a: 1, b: { a: 1 } })
  t.strictSame(
    applyJsonPatch({ a: 1 }, [
      { op: 'move', from: '', path: '' },
      { op: 'test', path: '', value: { a: 1 } }
    ]),
    { a: 1 }
  )
})

test('unchanged parts are shared, and changed parts are copied once (RFC 6902)', async (t) => {
  const document = freeze({ left: { deep: [1, 2, 3] }, right: { deep: { a: 1 } } })
  const result = applyJsonPatch(
    document,
    freeze([
      { op: 'add', path: '/left/deep/0', value: 0 },
      { op: 'remove', path: '/left/deep/3' },
      { op: 'replace', path: '/left/deep/0', value: [9] },
      { op: 'add', path: '/left/deep/0/-', value: 8 }
    ])
  )
  t.strictSame(result, { left: { deep: [[9, 8], 1, 2] }, right: { deep: { a: 1 } } })
  t.equal(Reflect.get(Object(result), 'right'), document.right)
  const copied = applyJsonPatch(document, [
    { op: 'copy', from: '/right', path: '/left/copy' },
    { op: 'replace', path: '/right/deep/a', value: 2 },
    { op: 'add', path: '/left/copy/deep/b', value: [] }
  ])
  t.strictSame(copied, { left: { deep: [1, 2, 3], copy: { deep: { a: 1, b: [] } } }, right: { deep: { a: 2 } } })
})

test('a few operations cannot build a document that is too deep or too large (RFC 6902, section 5)', async (t) => {
  const bomb = [
    { op: 'add', path: '/a', value: ['x'.repeat(1000)] },
    ...Array.from({ length: 40 }, () => ({ op: 'copy', from: '/a', path: '/a/-' }))
  ]
  t.match(refusal({}, bomb), { kind: 'inapplicable', detail: 'The operations copy too much.', pointer: '/a' })
  const long = { a: Array.from({ length: 300_000 }, () => 0) }
  for (const operation of [
    { op: 'add', path: '/a/0', value: 1 },
    { op: 'remove', path: '/a/0' },
    { op: 'move', from: '/a/0', path: '/a/-' }
  ]) {
    t.match(
      refusal(
        long,
        Array.from({ length: 2_000 }, () => operation)
      ),
      { kind: 'inapplicable', detail: 'The operations move too many array items.', pointer: '/a/0' },
      operation.op
    )
  }
  t.doesNotThrow(
    () =>
      applyJsonPatch(
        long,
        Array.from({ length: 2_000 }, () => ({ op: 'add', path: '/a/-', value: 1 }))
      ),
    'appending moves no elements'
  )
  let nested: unknown = 1
  for (let level = 0; level < 40; level++) nested = { a: nested }
  const path = '/b' + '/a'.repeat(39)
  t.equal(refusal({ a: nested, b: nested }, [{ op: 'move', from: '/a', path: '/b/c' }]), undefined)
  t.match(refusal({ a: nested, b: nested }, [{ op: 'move', from: '/a', path: path + '/a' }]), {
    kind: 'inapplicable',
    detail: 'The result is nested deeper than 64 levels.',
    index: 0
  })
  t.match(
    refusal({ a: nested, b: nested }, [
      { op: 'move', from: '/a', path: path + '/a' },
      { op: 'copy', from: '', path: '/c' }
    ]),
    { kind: 'inapplicable', detail: 'The value is nested deeper than 64 levels.', index: 1 }
  )
})

test('operations do not modify their input, and are applied in order or not at all (RFC 6902)', async () => {
  const path = fc.constantFrom('', '/a', '/a/b', '/a/0', '/a/-', '/b', '/b/0', '/b/1', '/b/-', '/a/b/c')
  const operation = fc.record({
    op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
    path,
    from: path,
    value: fc.jsonValue({ maxDepth: 2 })
  })
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 8 }), (operations) => {
      const document = freeze({ a: { b: [1, { c: 2 }] }, b: ['x', 'y'] })
      const text = JSON.stringify(operations)
      try {
        const result = applyJsonPatch(document, freeze(operations))
        const stepwise = operations.reduce<unknown>(
          (current, operation) => applyJsonPatch(current, [operation]),
          document
        )
        assert.deepEqual(result, stepwise)
      } catch (thrown) {
        assert.ok(thrown instanceof PatchRefusal, String(thrown))
      }
      assert.equal(JSON.stringify(operations), text)
    }),
    { numRuns: 1000 }
  )
})

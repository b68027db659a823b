import { test } from 'tap'
import { Type } from '@sinclair/typebox'
import Type1 from 'typebox'
import { toCanonicalJson } from '../../lib/schema/canonical-json.ts'
import { carryOver } from '../../lib/schema/carry-over.ts'
import { hideWriteOnly, restoreWriteOnly } from '../../lib/schema/write-only.ts'
import { readIdentity } from '../../lib/schema/ids.ts'
import { findChanges, fillDefaults, pickAnnotated, omitAnnotated } from '../../lib/schema/annotations.ts'
import { readProperties } from '../../lib/schema/properties.ts'
import { hasAnnotation, rewriteSchema } from '../../lib/schema/rewrite-schema.ts'
import type { JsonSchema } from '../../lib/storage/contract.ts'
import { resolveSchema, getSubschemas } from '../../lib/schema/subschemas.ts'
import { createUuid } from '../../lib/schema/uuid.ts'
import { isKnownFormat, compileValidator, getValidator } from '../../lib/schema/validation.ts'
import { isProportional } from '../growth.ts'

/** TypeBox schemas are JSON Schema without saying so. */
const toJsonSchema = (schema: object): JsonSchema => schema as JsonSchema

const properties = (schema: object) => readProperties(toJsonSchema(schema))

/** The validator that a definition compiles. */
const compile = (schema: object) => compileValidator(rewriteSchema(toJsonSchema(schema), {}))

const secret = Type.String({ writeOnly: true })
const given = Type.String({ readOnly: true })

test('annotations are found at any depth', async (t) => {
  const schemas: Array<[string, object, unknown, unknown]> = [
    ['a property', Type.Object({ s: secret, p: Type.String() }), { s: 'x', p: 'y' }, { p: 'y' }],
    [
      'a nested object',
      Type.Object({ o: Type.Object({ s: secret, p: Type.String() }) }),
      { o: { s: 'x', p: 'y' } },
      { o: { p: 'y' } }
    ],
    ['an optional object', Type.Object({ o: Type.Optional(Type.Object({ s: secret })) }), { o: { s: 'x' } }, { o: {} }],
    [
      'items of an array',
      Type.Object({ a: Type.Array(Type.Object({ s: secret, p: Type.String() })) }),
      {
        a: [
          { s: 'x', p: 'y' },
          { s: 'z', p: 'q' }
        ]
      },
      { a: [{ p: 'y' }, { p: 'q' }] }
    ],
    [
      'arrays of arrays',
      Type.Object({ a: Type.Array(Type.Array(Type.Object({ s: secret }))) }),
      { a: [[{ s: 'x' }], []] },
      { a: [[{}], []] }
    ],
    [
      'a tuple',
      Type.Object({ t: Type.Tuple([Type.String(), Type.Object({ s: secret, p: Type.String() })]) }),
      { t: ['a', { s: 'x', p: 'y' }] },
      { t: ['a', { p: 'y' }] }
    ],
    [
      'a record',
      Type.Object({ r: Type.Record(Type.String(), Type.Object({ s: secret, p: Type.String() })) }),
      { r: { a: { s: 'x', p: 'y' }, b: { s: 'z', p: 'q' } } },
      { r: { a: { p: 'y' }, b: { p: 'q' } } }
    ],
    [
      'additional properties',
      Type.Object({}, { additionalProperties: Type.Object({ s: secret, p: Type.String() }) }),
      { any: { s: 'x', p: 'y' } },
      { any: { p: 'y' } }
    ],
    [
      'several patterns',
      {
        type: 'object',
        patternProperties: {
          '^a': { type: 'object', properties: { s: { writeOnly: true } } },
          '^b': { type: 'object', properties: { p: {} } }
        }
      },
      { a1: { s: 1 }, b1: { s: 2, p: 3 } },
      { a1: {}, b1: { p: 3 } }
    ],
    [
      'a nullable object',
      Type.Object({ n: Type.Union([Type.Object({ s: secret, p: Type.String() }), Type.Null()]) }),
      { n: { s: 'x', p: 'y' } },
      { n: { p: 'y' } }
    ],
    [
      'a nullable object that is null',
      Type.Object({ n: Type.Union([Type.Object({ s: secret }), Type.Null()]) }),
      { n: null },
      { n: null }
    ],
    [
      'a union of objects, of which one has the mark',
      Type.Object({ u: Type.Union([Type.Object({ s: secret, p: Type.String() }), Type.Object({ s: Type.String() })]) }),
      { u: { s: 'x', p: 'y' } },
      { u: { p: 'y' } }
    ],
    [
      'a property that is a union, of which one branch is marked',
      Type.Object({ u: Type.Union([secret, Type.Null()]) }),
      { u: 'x' },
      {}
    ],
    [
      'an intersection',
      Type.Object({ i: Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ s: secret })]) }),
      { i: { a: 'a', s: 'x' } },
      { i: { a: 'a' } }
    ],
    [
      'a branch that occurs twice',
      {
        type: 'object',
        properties: { o: { allOf: [{ $ref: '#/$defs/S' }, { $ref: '#/$defs/S' }] } },
        $defs: { S: { type: 'object', properties: { s: { writeOnly: true } } } }
      },
      { o: { s: 1 } },
      { o: {} }
    ],
    [
      'oneOf',
      {
        type: 'object',
        properties: { o: { oneOf: [{ type: 'null' }, { type: 'object', properties: { s: { writeOnly: true } } }] } }
      },
      { o: { s: 1 } },
      { o: {} }
    ]
  ]
  for (const [where, schema, item, visible] of schemas) {
    t.strictSame(omitAnnotated(item, properties(schema), 'writeOnly'), visible, where)
  }
})

test('annotations are found behind references, in any order of the properties', async (t) => {
  const Tree = Type.Recursive((This) =>
    Type.Object({
      up: Type.Union([This, Type.Null()]),
      children: Type.Array(This),
      name: Type.String(),
      s: Type.Optional(secret)
    })
  )
  const leaf = { name: 'b', s: 'hidden', children: [], up: null }
  const shown = { name: 'b', children: [], up: null }
  const tree = { up: { ...leaf, up: leaf }, children: [{ ...leaf, children: [leaf] }], name: 'a', s: 'hidden' }
  const visible = { up: { ...shown, up: shown }, children: [{ ...shown, children: [shown] }], name: 'a' }
  t.strictSame(omitAnnotated(tree, properties(Tree), 'writeOnly'), visible, 'the schema itself is recursive')
  t.strictSame(
    omitAnnotated({ tree }, properties(Type.Object({ tree: Tree })), 'writeOnly'),
    { tree: visible },
    'a property is recursive'
  )

  const Node = { name: Type1.String(), s: Type1.String({ writeOnly: true }), next: Type1.Array(Type1.Ref('Node')) }
  const Chain = Type1.Object({ chain: Type1.Cyclic({ Node: Type1.Object(Node) }, 'Node') })
  t.strictSame(
    omitAnnotated(
      { chain: { name: 'a', s: 'x', next: [{ name: 'b', s: 'y', next: [] }] } },
      properties(Chain),
      'writeOnly'
    ),
    { chain: { name: 'a', next: [{ name: 'b', next: [] }] } },
    'Type.Cyclic of typebox 1'
  )

  const pointed = {
    type: 'object',
    $defs: { s: { type: 'string', writeOnly: true } },
    properties: {
      a: { $ref: '#/$defs/s' },
      b: { $ref: '#/$defs/absent/deeper' },
      c: { $ref: 'nowhere' },
      d: { $ref: 'nowhere', writeOnly: true },
      e: { $ref: '#' }
    }
  }
  t.strictSame(
    omitAnnotated({ a: 1, b: 2, c: 3, d: 4, e: { a: 5, b: 6 } }, properties(pointed), 'writeOnly'),
    { b: 2, c: 3, e: { b: 6 } },
    'pointers within the schema, annotations beside a reference, and unresolved references'
  )
})

test('a value of another type than the schema has is left unchanged', async (t) => {
  const about = properties(
    Type.Object({
      o: Type.Object({ s: secret, d: Type.String({ default: 'x' }), r: given }),
      a: Type.Array(Type.Object({ s: secret, d: Type.String({ default: 'x' }), r: given }))
    })
  )
  for (const value of [
    'text',
    1,
    null,
    true,
    undefined,
    [],
    ['text'],
    { o: 'text', a: 'text' },
    { o: [1], a: [1] },
    { o: null, a: null }
  ]) {
    t.strictSame(omitAnnotated(value, about, 'writeOnly'), value)
    t.strictSame(fillDefaults(value, about), value)
    t.strictSame(carryOver(value, value, about), value)
    t.strictSame(restoreWriteOnly(hideWriteOnly(value, about), about), value)
    t.strictSame(pickAnnotated(value, about, 'readOnly'), undefined)
    t.strictSame(findChanges(value, value, about, 'readOnly'), [])
  }
  t.strictSame(carryOver({ o: { r: 'sent' } }, { o: 'text' }, about), { o: {} })
  t.strictSame(carryOver({ a: [{ r: 'sent' }] }, { a: 'text' }, about), { a: [{}] })
})

test('defaults are set for missing properties at any depth', async (t) => {
  const schemas: Array<[string, object, unknown, unknown]> = [
    ['a property', Type.Object({ d: Type.String({ default: 'x' }) }), {}, { d: 'x' }],
    ['null', Type.Object({ d: Type.Union([Type.String(), Type.Null()], { default: null }) }), {}, { d: null }],
    [
      'false and zero',
      Type.Object({ b: Type.Boolean({ default: false }), n: Type.Number({ default: 0 }) }),
      {},
      { b: false, n: 0 }
    ],
    [
      'a property that is there, even if null, keeps its value',
      Type.Object({ d: Type.Union([Type.String(), Type.Null()], { default: 'x' }) }),
      { d: null },
      { d: null }
    ],
    [
      'a nested object',
      Type.Object({ o: Type.Object({ d: Type.Integer({ default: 1 }) }) }),
      { o: {} },
      { o: { d: 1 } }
    ],
    [
      'a missing object has no properties to fill',
      Type.Object({ o: Type.Optional(Type.Object({ d: Type.Integer({ default: 1 }) })) }),
      {},
      {}
    ],
    [
      'a default that has defaults',
      Type.Object({ o: Type.Object({ d: Type.Integer({ default: 1 }) }, { default: {} }) }),
      {},
      { o: { d: 1 } }
    ],
    [
      'items of an array',
      Type.Object({ a: Type.Array(Type.Object({ d: Type.Integer({ default: 1 }) })) }),
      { a: [{}, { d: 2 }] },
      { a: [{ d: 1 }, { d: 2 }] }
    ],
    [
      'a record',
      Type.Object({ r: Type.Record(Type.String(), Type.Object({ d: Type.Integer({ default: 1 }) })) }),
      { r: { k: {} } },
      { r: { k: { d: 1 } } }
    ],
    [
      'a nullable object',
      Type.Object({ n: Type.Union([Type.Object({ d: Type.Integer({ default: 1 }) }), Type.Null()]) }),
      { n: {} },
      { n: { d: 1 } }
    ],
    [
      'an intersection',
      Type.Object({
        i: Type.Intersect([
          Type.Object({ d: Type.Integer({ default: 1 }) }),
          Type.Object({ e: Type.Integer({ default: 2 }) })
        ])
      }),
      { i: {} },
      { i: { d: 1, e: 2 } }
    ],
    [
      'a default beside an intersection',
      { type: 'object', properties: { i: { allOf: [{ type: 'string', default: 'x' }] } } },
      {},
      { i: 'x' }
    ],
    [
      'a union of several objects is left alone',
      Type.Object({
        u: Type.Union([
          Type.Object({ d: Type.Integer({ default: 1 }) }),
          Type.Object({ e: Type.Integer({ default: 2 }) })
        ])
      }),
      { u: {} },
      { u: {} }
    ],
    [
      'a tuple is left alone',
      Type.Object({ t: Type.Tuple([Type.Object({ d: Type.Integer({ default: 1 }) }), Type.Object({})]) }),
      { t: [{}, {}] },
      { t: [{}, {}] }
    ],
    [
      'a default of one branch is only about that branch',
      Type.Object({ u: Type.Union([Type.String({ default: 'x' }), Type.Null()]) }),
      {},
      {}
    ],
    [
      'a recursive schema',
      Type.Recursive((This) =>
        Type.Object({ d: Type.Integer({ default: 1 }), children: Type.Array(This, { default: [] }) })
      ),
      { children: [{}] },
      { children: [{ d: 1, children: [] }], d: 1 }
    ]
  ]
  for (const [where, schema, value, whole] of schemas) {
    t.strictSame(fillDefaults(value, properties(schema)), whole, where)
  }
})

test('a default is never shared between items', async (t) => {
  const about = properties(Type.Object({ tags: Type.Array(Type.String(), { default: ['a'] }) }))
  const [one, other] = [fillDefaults({}, about) as { tags: string[] }, fillDefaults({}, about) as { tags: string[] }]
  one.tags.push('b')
  t.strictSame(other.tags, ['a'])
})

test('a replacement keeps properties that the client cannot write or has not seen', async (t) => {
  const Item = Type.Object({
    name: Type.String(),
    r: Type.Optional(given),
    s: Type.Optional(secret),
    o: Type.Optional(
      Type.Object({ n: Type.Optional(Type.Integer()), r: Type.Optional(given), s: Type.Optional(secret) })
    ),
    map: Type.Optional(Type.Record(Type.String(), Type.Object({ r: Type.Optional(given) })))
  })
  const before = { name: 'a', r: 'kept', s: 'kept', o: { n: 1, r: 'kept', s: 'kept' } }
  const cases: Array<[string, object, object]> = [
    [
      'missing properties are restored',
      { name: 'b', o: { n: 2 } },
      { name: 'b', o: { n: 2, r: 'kept', s: 'kept' }, r: 'kept', s: 'kept' }
    ],
    [
      'readOnly properties replace what was sent',
      { r: 'x', name: 'b', o: { r: 'x' } },
      { r: 'kept', name: 'b', o: { r: 'kept', s: 'kept' }, s: 'kept' }
    ],
    [
      'writeOnly properties are set if they are sent',
      { name: 'b', s: 'new', o: { s: 'new' } },
      { name: 'b', s: 'new', o: { s: 'new', r: 'kept' }, r: 'kept' }
    ],
    ['the object that contained them was removed', { name: 'b' }, { name: 'b', r: 'kept', s: 'kept' }],
    [
      'the object that contains them is new',
      { name: 'b', map: { k: { r: 'x' } } },
      { name: 'b', map: { k: {} }, r: 'kept', s: 'kept' }
    ]
  ]
  for (const [what, sent, whole] of cases) t.strictSame(carryOver(sent, before, properties(Item)), whole, what)
  t.strictSame(
    JSON.stringify(carryOver({ r: 'x', name: 'b' }, { name: 'a', r: 'kept' }, properties(Item))),
    '{"r":"kept","name":"b"}',
    'the order of the client is kept'
  )
  const Open = Type.Record(Type.String(), given)
  t.strictSame(
    carryOver({ a: 'x', b: 'x' }, { a: 'kept', c: 'kept' }, properties(Open)),
    { a: 'kept', c: 'kept' },
    'whatever their names'
  )
})

test('an array item keeps its own hidden properties when it moves', async (t) => {
  const Keys = properties(
    Type.Object({ keys: Type.Array(Type.Object({ name: Type.String(), s: Type.Optional(secret) })) })
  )
  const keys = [
    { name: 'a', s: '1' },
    { name: 'b', s: '2' },
    { name: 'b', s: '3' }
  ]
  const put = (sent: unknown[], about = Keys, before: unknown[] = keys) =>
    (carryOver({ keys: sent }, { keys: before }, about) as { keys: unknown[] }).keys
  t.strictSame(put([{ name: 'a' }, { name: 'b' }, { name: 'b' }]), keys, 'unchanged')
  t.strictSame(
    put([{ name: 'b' }, { name: 'new' }, { name: 'a' }]),
    [{ name: 'b', s: '2' }, { name: 'new' }, { name: 'a', s: '1' }],
    'moved, with a new one'
  )
  t.strictSame(
    put([{ name: 'other' }], Keys, [{ name: 'a', s: '1' }]),
    [{ name: 'other' }],
    'a value of one item is never copied to another'
  )
  t.strictSame(put([{ name: 'a', s: 'new' }]), [{ name: 'a', s: 'new' }], 'set again')
  t.strictSame(put(['text', { name: 'a' }]), ['text', { name: 'a', s: '1' }], 'next to other elements')

  const Lines = properties(
    Type.Object({
      keys: Type.Array(Type.Object({ id: Type.Optional(given), n: Type.Integer(), s: Type.Optional(secret) }))
    })
  )
  const lines = [
    { id: 'x', n: 1, s: '1' },
    { id: 'y', n: 2, s: '2' }
  ]
  t.strictSame(
    put(
      [
        { id: 'y', n: 20 },
        { id: 'x', n: 1 }
      ],
      Lines,
      lines
    ),
    [
      { id: 'y', n: 20, s: '2' },
      { id: 'x', n: 1, s: '1' }
    ],
    'matched by readOnly properties, edited and moved'
  )
  t.strictSame(
    put([{ id: 'made up', n: 3 }], Lines, lines),
    [{ n: 3 }],
    'a readOnly property that no item had is ignored'
  )
  t.strictSame(put([{ n: 2 }], Lines, lines), [{ n: 2, id: 'y', s: '2' }], 'matched by the other properties')
  t.strictSame(
    put(
      [
        { id: 'x', n: 5 },
        { id: 'x', n: 1 }
      ],
      Lines,
      [
        { id: 'x', n: 1, s: '1' },
        { id: 'x', n: 2, s: '2' }
      ]
    ),
    [{ n: 5 }, { id: 'x', n: 1, s: '1' }],
    'ambiguous readOnly properties do not identify a secret'
  )

  const Flags = properties(
    Type.Object({
      keys: Type.Array(Type.Object({ flag: Type.Optional(Type.Boolean({ readOnly: true })), n: Type.Integer() }))
    })
  )
  t.strictSame(
    put(
      [
        { flag: true, n: 9 },
        { flag: false, n: 8 }
      ],
      Flags,
      [
        { flag: true, n: 1 },
        { flag: true, n: 2 }
      ]
    ),
    [{ flag: true, n: 9 }, { n: 8 }],
    'if nothing is hidden, equal items are interchangeable'
  )
})

test('a patch neither sees nor loses writeOnly properties', async (t) => {
  const about = properties(
    Type.Object({
      s: Type.Optional(secret),
      keys: Type.Array(Type.Object({ name: Type.String(), s: Type.Optional(secret) })),
      open: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
    })
  )
  const item = {
    s: 'x',
    keys: [
      { name: 'a', s: '1' },
      { name: 'b', s: '2' }
    ]
  }
  const seen = hideWriteOnly(item, about) as { keys: Array<Record<string, unknown>>; s?: string; open?: unknown }
  t.equal(JSON.stringify(seen), '{"keys":[{"name":"a"},{"name":"b"}]}')
  t.strictSame(restoreWriteOnly(seen, about), item)
  t.strictSame(
    restoreWriteOnly({ ...seen, s: 'new', keys: [seen.keys[1], { ...seen.keys[0], name: 'c' }, { name: 'd' }] }, about),
    { s: 'new', keys: [{ name: 'b', s: '2' }, { name: 'c', s: '1' }, { name: 'd' }] },
    'moved, edited, added'
  )
  const open = restoreWriteOnly({ keys: [], open: { moved: seen.keys[0] } }, about) as { open: { moved: object } }
  t.strictSame(open, { keys: [], open: { moved: { name: 'a' } } }, 'an object that was moved elsewhere reveals nothing')
  t.strictSame(Object.getOwnPropertySymbols(open.open.moved), [])
})

test('annotated properties that differ are reported by their paths', async (t) => {
  const Item = properties(
    Type.Object({
      r: Type.Optional(given),
      'a/b~c': Type.Optional(given),
      o: Type.Optional(
        Type.Object({
          r: Type.Optional(Type.Object({ x: Type.Integer(), y: Type.Integer() }, { readOnly: true })),
          w: Type.Optional(Type.String())
        })
      ),
      a: Type.Optional(
        Type.Array(
          Type.Object({
            r: Type.Optional(given),
            n: Type.Optional(Type.Integer()),
            b: Type.Optional(Type.Array(Type.Object({ r: Type.Optional(given) })))
          })
        )
      )
    })
  )
  const before = {
    r: '1',
    o: { r: { x: 1, y: 2 }, w: 'w' },
    a: [
      { r: 'x', n: 1 },
      { r: 'y', n: 2 }
    ]
  }
  const cases: Array<[string, object, string[][]]> = [
    ['nothing', before, []],
    ['the order of properties does not count', { ...before, o: { w: 'w', r: { y: 2, x: 1 } } }, []],
    ['what is not marked', { ...before, o: { ...before.o, w: 'v' } }, []],
    ['changed', { ...before, r: '2', o: { r: { x: 1, y: 3 } } }, [['r'], ['o', 'r']]],
    ['removed', { o: {}, a: before.a }, [['r'], ['o', 'r']]],
    ['removed with what holds it', { r: '1' }, [['o', 'r']]],
    ['added', { ...before, 'a/b~c': 'x' }, [['a/b~c']]],
    ['items moved, removed, edited and added', { ...before, a: [{ r: 'y', n: 5 }, { n: 7 }] }, []],
    [
      'items with what no item had, each of them',
      { ...before, a: [{ r: 'z' }, { r: 'y' }, { r: 'q' }] },
      [
        ['a', '0', 'r'],
        ['a', '2', 'r']
      ]
    ],
    ['an array within an item', { ...before, a: [{ r: 'x', b: [{ r: 'new' }, {}] }] }, [['a', '0', 'b', '0', 'r']]],
    ['no array any more', { ...before, a: 'text' }, []]
  ]
  for (const [what, after, paths] of cases) t.strictSame(findChanges(before, after, Item, 'readOnly'), paths, what)
  t.strictSame(findChanges({}, { a: [{ r: 'x' }] }, Item, 'readOnly'), [['a', '0', 'r']], 'the array is new')
  const Open = properties(Type.Record(Type.String(), Type.Object({ r: Type.Optional(given) })))
  t.strictSame(
    findChanges({ x: { r: '1' }, y: {} }, { x: {}, z: { r: '2' } }, Open, 'readOnly'),
    [
      ['x', 'r'],
      ['z', 'r']
    ],
    'below names that the schema does not state'
  )
})

test('a large array is compared in time proportional to its length', async (t) => {
  const about = properties(
    Type.Object({
      a: Type.Array(Type.Object({ n: Type.Integer(), r: Type.Optional(given), s: Type.Optional(secret) }))
    })
  )
  const compare = (length: number) => {
    const before = { a: Array.from({ length }, (_, n) => ({ n, r: String(n), s: 's' })) }
    const after = { a: before.a.toReversed().map(({ n }) => ({ n })) }
    return [
      findChanges(before, { a: before.a.toReversed() }, about, 'readOnly'),
      (carryOver(after, before, about) as typeof before).a[0]
    ]
  }
  t.match(compare(20_000), [[], { n: 19_999, r: '19999', s: 's' }])
  t.ok(await isProportional(compare, 5_000), 'not quadratic')
})

test('values that are equal as JSON have one canonical text', async (t) => {
  t.equal(toCanonicalJson({ b: 1, a: [{ d: 1, c: null }] }), '{"a":[{"c":null,"d":1}],"b":1}')
  t.equal(toCanonicalJson({ b: 1, a: 2 }), toCanonicalJson({ a: 2, b: 1 }))
  t.not(toCanonicalJson([1, 2]), toCanonicalJson([2, 1]))
  t.equal(toCanonicalJson(undefined), undefined)
})

test('rewriteSchema keeps, drops and relaxes properties at any depth', async (t) => {
  const Inner = Type.Object({ r: given, s: secret, p: Type.String({ default: 'x' }) })
  const schema = toJsonSchema(
    Type.Object({
      r: given,
      s: secret,
      p: Type.String({ default: 'x' }),
      o: Inner,
      a: Type.Array(Inner),
      t: Type.Tuple([Inner]),
      u: Type.Union([Inner, Type.Null()])
    })
  )
  const inner = (wanted: object) => {
    const closed = { type: 'object', additionalProperties: false, ...wanted }
    return { o: closed, a: { items: closed }, t: { items: [closed] }, u: { anyOf: [closed, { type: 'null' }] } }
  }
  const names = ({ properties = {} }: JsonSchema) => Object.keys(properties)

  const create = rewriteSchema(schema, { drop: 'readOnly' })
  t.strictSame(names(create), ['s', 'p', 'o', 'a', 't', 'u'])
  t.strictSame(create.required, ['s', 'p', 'o', 'a', 't', 'u'])
  t.match(create.properties, inner({ required: ['s', 'p'], properties: { s: {}, p: { default: 'x' } } }))
  t.notMatch(create.properties, inner({ properties: { r: {} } }))

  const replace = rewriteSchema(schema, { drop: 'readOnly', optional: ['writeOnly'] })
  t.strictSame(replace.required, ['p', 'o', 'a', 't', 'u'])
  t.match(replace.properties, inner({ required: ['p'] }))

  const patch = rewriteSchema(schema, { drop: 'readOnly', partial: true })
  t.notOk(Object.hasOwn(patch, 'required'))
  t.notOk(JSON.stringify(patch).includes('default'))

  const read = rewriteSchema(schema, { drop: 'writeOnly' })
  t.strictSame(names(read), ['r', 'p', 'o', 'a', 't', 'u'])
  t.notOk(JSON.stringify(read).includes('writeOnly'))

  t.strictSame(
    rewriteSchema(
      {
        type: 'object',
        properties: { r: { readOnly: true } },
        required: ['r', 'other'],
        patternProperties: { '^o': {} }
      },
      { drop: 'readOnly' }
    ).required,
    ['other'],
    'a required property without a schema stays required'
  )
  t.strictSame(
    schema,
    toJsonSchema(
      Type.Object({
        r: given,
        s: secret,
        p: Type.String({ default: 'x' }),
        o: Inner,
        a: Type.Array(Inner),
        t: Type.Tuple([Inner]),
        u: Type.Union([Inner, Type.Null()])
      })
    ),
    'the schema is not changed'
  )
})

test('an annotation is found in branches and behind references', async (t) => {
  const root: JsonSchema = {
    type: 'object',
    $defs: { stamp: { $id: 'stamp', type: 'string', readOnly: true } },
    properties: { self: { $ref: '#' } }
  }
  t.ok(hasAnnotation({ $ref: 'stamp' }, 'readOnly', root))
  t.ok(hasAnnotation({ anyOf: [{ type: 'null' }, { $ref: '#/$defs/stamp' }] }, 'readOnly', root))
  t.ok(hasAnnotation({ oneOf: [{ allOf: [{ readOnly: true }] }] }, 'readOnly', root))
  t.notOk(hasAnnotation({ $ref: '#' }, 'readOnly', root))
  t.notOk(hasAnnotation({ readOnly: false }, 'readOnly', root))
  t.strictSame(resolveSchema({ $ref: '#/properties' }, { properties: {} }), [{ $ref: '#/properties' }, {}])
  t.strictSame(getSubschemas({ type: 'array', prefixItems: [{ const: 1 }], items: { const: 2 } }), [
    { const: 2 },
    { const: 1 }
  ])
  const relaxed = rewriteSchema(
    { type: 'object', ...root, properties: { a: { $ref: 'stamp' }, b: {} }, required: ['a', 'b'] },
    { optional: ['readOnly'] }
  )
  t.strictSame(relaxed.required, ['b'])
})

test('unknown properties are rejected at any depth unless the schema allows them', async (t) => {
  const Open = Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: true })
  const One = Type.Object({ a: Type.Optional(Type.String()) })
  const Two = Type.Object({ b: Type.Optional(Type.String()) })
  const cases: Array<[string, object, unknown, string[]]> = [
    ['the item', One, { a: 'x', y: 1, z: 2 }, ['/y', '/z']],
    ['names with ~ and /', One, { '~y/z': 1 }, ['/~0y~1z']],
    ['a name of every object', One, { constructor: 1, toString: 2 }, ['/constructor', '/toString']],
    ['an object', Type.Object({ o: One }), { o: { y: 1 } }, ['/o/y']],
    ['items of an array', Type.Object({ a: Type.Array(One) }), { a: [{}, { y: 1 }] }, ['/a/1/y']],
    ['a tuple', Type.Object({ t: Type.Tuple([One]) }), { t: [{ y: 1 }] }, ['/t/0/y']],
    ['a nullable object', Type.Object({ n: Type.Union([One, Type.Null()]) }), { n: { y: 1 } }, ['/n/y']],
    ['a union', Type.Object({ u: Type.Union([One, Two]) }), { u: { b: 'x', y: 1 } }, ['/u/y']],
    [
      'an intersection, as a whole',
      Type.Object({ i: Type.Intersect([One, Two]) }),
      { i: { a: 'x', b: 'y', c: 'z' } },
      ['/i/c']
    ],
    ['an intersection that fits', Type.Object({ i: Type.Intersect([One, Two]) }), { i: { a: 'x', b: 'y' } }, []],
    [
      'an intersection of an object and a union',
      Type.Object({ i: Type.Intersect([One, Type.Union([Two, Type.Object({ c: Type.String() })])]) }),
      { i: { a: 'x', c: 'y' } },
      []
    ],
    [
      'an intersection within an intersection',
      Type.Object({ i: Type.Intersect([One, Type.Intersect([Two, Type.Object({ c: Type.String() })])]) }),
      { i: { a: 'x', b: 'y', c: 'z', d: 1 } },
      ['/i/d']
    ],
    ['an intersection with an open part', Type.Object({ i: Type.Intersect([Open, Two]) }), { i: { a: 'x', c: 1 } }, []],
    [
      'an intersection that is open itself',
      Type.Object({ i: Type.Intersect([One, Two], { unevaluatedProperties: Type.Object({ n: Type.Integer() }) }) }),
      { i: { c: { n: 1, y: 2 } } },
      ['/i/c/y']
    ],
    [
      'within a part of an intersection',
      Type.Object({ i: Type.Intersect([Type.Object({ o: One }), Two]) }),
      { i: { o: { y: 1 } } },
      ['/i/o/y']
    ],
    ['an open object', Open, { y: 1, z: { q: 1 } }, []],
    ['additional properties of a kind', Type.Object({}, { additionalProperties: One }), { any: { y: 1 } }, ['/any/y']],
    ['additional properties that are refused', Type.Object({}, { additionalProperties: false }), { any: 1 }, ['/any']],
    ['a record', Type.Object({ r: Type.Record(Type.String(), Type.Integer()) }), { r: { any: 1, other: 2 } }, []],
    [
      'a record, to what is in it',
      Type.Object({ r: Type.Record(Type.String(), One) }),
      { r: { any: { y: 1 } } },
      ['/r/any/y']
    ],
    [
      'a record with names of a pattern',
      Type.Object({ r: Type.Record(Type.String({ pattern: '^x-' }), Type.Integer()) }),
      { r: { 'x-a': 1, b: 2 } },
      ['/r/b']
    ],
    [
      'a recursive schema',
      Type.Recursive((This) => Type.Object({ next: Type.Optional(This) })),
      { next: { next: { y: 1 } } },
      ['/next/next/y']
    ],
    ['unknown', Type.Object({ u: Type.Unknown() }), { u: { any: { deep: 1 } } }, []],
    ['not', Type.Object({ u: Type.Not(Two) }), { u: 1 }, []]
  ]
  for (const [where, schema, value, pointers] of cases) {
    t.strictSame(
      (compile(schema)(value) ?? []).map(({ pointer }) => pointer),
      pointers,
      where
    )
  }
})

test('all invalid properties are reported together, with a pointer and a message', async (t) => {
  const Item = Type.Object({
    name: Type.String({ minLength: 2 }),
    email: Type.String({ format: 'email' }),
    age: Type.Integer({ minimum: 0 }),
    role: Type.Union([Type.Literal('admin'), Type.Literal('guest')]),
    color: Type.Unsafe<string>({ type: 'string', enum: ['red', 'blue'] }),
    one: Type.Literal(1),
    lines: Type.Array(Type.Object({ 'a/b~c': Type.Integer() })),
    nick: Type.Union([Type.String({ minLength: 3 }), Type.Null()]),
    missing: Type.String()
  })
  const found = compile(Item)({
    name: 'x',
    email: 'no',
    age: '41',
    role: 'owner',
    color: 'green',
    one: 2,
    lines: [{ 'a/b~c': 1 }, { 'a/b~c': 'x' }],
    nick: 'no',
    typo: true
  })
  t.strictSame(
    new Map(found?.map(({ pointer, message }) => [pointer, message])),
    new Map([
      ['/missing', 'is required'],
      ['/typo', 'is not a known property'],
      ['/name', 'must NOT have fewer than 2 characters'],
      ['/email', 'must match format "email"'],
      ['/age', 'must be integer'],
      ['/role', 'must be one of "admin", "guest"'],
      ['/color', 'must be one of "red", "blue"'],
      ['/one', 'must be 1'],
      ['/lines/1/a~1b~0c', 'must be integer'],
      ['/nick', 'must NOT have fewer than 3 characters, or must be null']
    ])
  )
  t.equal(
    compile(Item)({
      name: 'xx',
      email: 'a@example.com',
      age: 41,
      role: 'guest',
      color: 'red',
      one: 1,
      lines: [],
      nick: null,
      missing: ''
    }),
    undefined
  )
  t.strictSame(compile(Item)('text'), [{ pointer: '', message: 'must be object' }])
  t.strictSame(compile(Item)(undefined), [{ pointer: '', message: 'must be object' }])
})

test('errors in a union are reported for the intended branch', async (t) => {
  const Cat = Type.Object({ kind: Type.Literal('cat'), lives: Type.Integer() })
  const Dog = Type.Object({ kind: Type.Literal('dog'), breed: Type.String() })
  const Tree = Type.Recursive((This) => Type.Object({ name: Type.String(), up: Type.Union([This, Type.Null()]) }))
  const cases: Array<[string, object, unknown, Record<string, string>]> = [
    ['by its constant', Type.Union([Cat, Dog]), { kind: 'dog', breed: 5 }, { '/u/breed': 'must be string' }],
    [
      'by its constant, with properties of the other',
      Type.Union([Cat, Dog]),
      { kind: 'dog', breed: 'x', lives: 9 },
      { '/u/lives': 'is not a known property' }
    ],
    ['no constant fits', Type.Union([Cat, Dog]), { kind: 'cow' }, { '/u/kind': 'must be one of "cat", "dog"' }],
    [
      'the one that fits best',
      Type.Union([Type.Object({ a: Type.String(), b: Type.String() }), Type.Object({ c: Type.String() })]),
      { c: 1 },
      { '/u/c': 'must be string' }
    ],
    [
      'the one that fits best, when it comes first',
      Type.Union([Type.Object({ c: Type.String() }), Type.Object({ a: Type.String(), b: Type.String() })]),
      { c: 1 },
      { '/u/c': 'must be string' }
    ],
    ['a nullable object', Type.Union([Cat, Type.Null()]), { kind: 'dog', lives: 9 }, { '/u/kind': 'must be "cat"' }],
    ['another type altogether', Type.Union([Cat, Type.Null()]), 'text', { '/u': 'must be object or null' }],
    [
      'a constant of another type',
      Type.Union([Type.Literal('a'), Type.Literal('b')]),
      5,
      { '/u': 'must be one of "a", "b"' }
    ],
    [
      'constants and types',
      Type.Union([Type.Literal('auto'), Type.Integer()]),
      'x',
      { '/u': 'must be one of "auto", or must be integer' }
    ],
    ['behind a reference', Tree, { name: 'a', up: { name: 5, up: null } }, { '/u/up/name': 'must be string' }],
    [
      'behind a reference, deeper',
      Tree,
      { name: 'a', up: { name: 'b', up: { name: 'c', up: 7 } } },
      { '/u/up/up/up': 'must be object or null' }
    ],
    [
      'within an intersection, beside other failures',
      Type.Intersect([
        Type.Object({ a: Type.String() }),
        Type.Union([Type.Object({ b: Type.String() }), Type.Object({ c: Type.String() })])
      ]),
      { a: 1, b: 2 },
      { '/u/a': 'must be string', '/u/b': 'must be string' }
    ],
    [
      'a union in a union',
      Type.Union([Type.Object({ v: Type.Union([Type.Literal('x'), Type.Literal('y')]) }), Type.Null()]),
      { v: 'z' },
      { '/u/v': 'must be one of "x", "y"' }
    ],
    [
      'one of several that all fit',
      Type.Unsafe({ oneOf: [{ type: 'string' }, { minLength: 1 }] }),
      'x',
      { '/u': 'must match exactly one schema in oneOf' }
    ]
  ]
  for (const [what, schema, value, wanted] of cases) {
    const found = compile(Type.Object({ u: Type.Unsafe(schema) }))({ u: value }) ?? []
    t.strictSame(Object.fromEntries(found.map(({ pointer, message }) => [pointer, message])), wanted, what)
  }
})

test('an error in one array item does not hide an error in another', async (t) => {
  const values = Array.from({ length: 12 }, (_, index) => (index === 1 ? 'text' : { a: index === 10 ? 'x' : 1 }))
  const found = compile(Type.Object({ u: Type.Array(Type.Union([Type.Object({ a: Type.Integer() }), Type.Null()])) }))({
    u: values
  })
  t.strictSame(
    found?.map(({ pointer }) => pointer),
    ['/u/1', '/u/10/a']
  )
})

test('the number of errors and the time to find them are limited', async (t) => {
  const holds = compile(Type.Object({ u: Type.Array(Type.Union([Type.Object({ a: Type.Integer() }), Type.Null()])) }))
  const find = (length: number) => holds({ u: Array.from({ length }, () => ({ a: 'x' })) })
  t.equal(find(20_000)?.length, 100)
  t.ok(await isProportional(find, 5_000))
})

test('a value with too many errors for one schema can still be valid for another', async (t) => {
  const Wide = Type.Object(Object.fromEntries([...'abcdefgh'].map((name) => [name, Type.String()])))
  const Marked = Type.Object({ mark: Type.Boolean() })
  const check = (schema: object, value: unknown) => compile(Type.Object({ value: schema as never }))({ value })
  const items = Array.from({ length: 2_000 }, () => ({ mark: true }))
  const Either = Type.Union([Type.Array(Wide), Type.Array(Marked)])
  t.equal(check(Either, items), undefined)
  t.equal(check(Type.Array(Either), [items, items]), undefined)
  t.strictSame(check(Type.Object({ wide: Either, last: Type.String() }), { wide: items }), [
    { pointer: '/value/last', message: 'is required' }
  ])
  const oneOf = [{ type: 'array', items: Wide }, { type: 'array', items: Marked }]
  t.equal(check({ oneOf }, items), undefined)
  t.match(check({ oneOf: [...oneOf, { type: 'array', maxItems: 5000 }] }, items), [{ pointer: '/value' }])
  t.equal(check({ type: 'array', contains: Wide }, [...items, Object.fromEntries([...'abcdefgh'].map((a) => [a, a]))]), undefined)
  const record = Object.fromEntries(items.map((item, index) => [`k${index}`, item]))
  t.equal(check(Type.Union([Type.Record(Type.String(), Wide), Type.Record(Type.String(), Marked)]), record), undefined)
  t.equal(check({ if: { type: 'array', items: Wide }, then: { maxItems: 1 }, else: { items: Marked } }, items), undefined)
  t.equal(check({ not: { type: 'array', items: Wide } }, items), undefined)
})

test('the errors of a union with many branches count as one', async (t) => {
  const kinds = Array.from({ length: 20 }, (_, index) =>
    Type.Object({
      kind: Type.Literal(`kind${index}`),
      ...Object.fromEntries([...'abcdefghij'].map((name) => [name, Type.String()]))
    })
  )
  const blocks = Array.from({ length: 90 }, () => ({ kind: 'other' }))
  const found = compile(Type.Object({ blocks: Type.Array(Type.Union(kinds)) }))({ blocks })
  t.equal(found?.length, 90)
  t.match(found?.at(-1), { pointer: '/blocks/89/kind', message: /^must be one of "kind0", "kind1", / })
  const Status = Type.Union([Type.Union([Type.Literal('open'), Type.Literal('done')]), Type.Null()])
  t.strictSame(compile(Type.Object({ status: Status }))({ status: 'x' }), [
    { pointer: '/status', message: 'must be one of "open", "done", or must be null' }
  ])
})

test('validation takes time proportional to the content', async (t) => {
  // Ajv compares each item of an array with each other, unless they are known to be text or numbers.
  const Points = Type.Object({
    points: Type.Array(Type.Object({ x: Type.Integer(), y: Type.Integer() }), { uniqueItems: true })
  })
  const buildPoints = (length: number) => Array.from({ length }, (_, x) => ({ x, y: 0 }))
  t.equal(compile(Points)({ points: buildPoints(30_000) }), undefined)
  t.ok(await isProportional((length) => compile(Points)({ points: buildPoints(length) }), 7_500))
  t.strictSame(compile(Points)({ points: [...buildPoints(30_000), { y: 0, x: 5 }] }), [
    { pointer: '/points', message: 'must NOT have duplicate items' }
  ])
  t.equal(
    compile(Type.Object({ points: Type.Array(Type.Integer(), { uniqueItems: false }) }))({ points: [1, 1] }),
    undefined
  )

  // Each level of a recursive union is tried again by each branch of the level above: without a limit, this would
  // not end.
  const branch = (kind: string, This: ReturnType<typeof Type.Unsafe>) =>
    Type.Object({ of: This, kind: Type.Literal(kind) })
  const Expression = Type.Object({
    e: Type.Recursive(
      (This) => Type.Union([branch('and', This), branch('or', This), Type.Object({ kind: Type.Literal('leaf') })]),
      { $id: 'Expression' }
    )
  })
  const nested = (levels: number, kind: string, leaf: unknown = { kind: 'leaf' }): unknown =>
    levels === 0 ? leaf : { kind, of: nested(levels - 1, kind, leaf) }
  t.equal(compile(Expression)({ e: nested(10, 'or') }), undefined)
  t.ok(compile(Expression)({ e: nested(6, 'and', { kind: 'none' }) }), 'invalid items are reported')
  t.strictSame(compile(Expression)({ e: nested(60, 'or') }), [
    { pointer: '', message: 'is nested in too many ways to be validated' }
  ])
  const errors = compile(
    Type.Object({
      e: Type.Recursive(
        (This) =>
          Type.Union([
            Type.Object({ kind: Type.Literal('and'), of: This }),
            Type.Object({ kind: Type.Literal('or'), of: This })
          ]),
        { $id: 'Limited' }
      )
    })
  )({ e: nested(30, 'and') })
  t.ok(errors !== undefined && errors.length >= 1, 'if there are too many errors, the first is reported')

  t.equal(
    compile(Type.Object({ a: Type.Union([Type.Array(Type.Integer()), Type.Null()]) }))({
      a: Array.from({ length: 330_000 }, () => '')
    })?.length,
    100
  )

  const Site = Type.Object({ site: Type.String({ format: 'url' }) })
  t.equal(compile(Site)({ site: `http://${':'.repeat(300_000)}!` })?.length, 1)
  t.ok(await isProportional((length) => compile(Site)({ site: `http://${':'.repeat(length)}!` }), 75_000))
  t.equal(compile(Site)({ site: 'https://ada:secret@example.com:8080/a?b#c' }), undefined)
})

test('an internal error during validation is thrown', async (t) => {
  const value = Object.defineProperty({}, 'a', {
    enumerable: true,
    get () {
      throw new Error('unreadable')
    }
  })
  t.throws(
    () => compile(Type.Object({ a: Type.Union([Type.Null(), Type.Integer()]) }))(value),
    { message: 'unreadable' }
  )
})

test('validation does not coerce, remove or fill in values', async (t) => {
  const value = { n: '1', extra: true }
  t.ok(compile(Type.Object({ n: Type.Integer(), d: Type.String({ default: 'x' }) }))(value))
  t.strictSame(value, { n: '1', extra: true })
  t.ok(compile(Type.Object({ n: Type.Integer() }))({ n: null }))
  t.ok(compile(Type.Object({ b: Type.Boolean() }))({ b: 'true' }))
})

test('one $id can be in several schemas', async (t) => {
  const first = compile(Type.Object({ a: Type.String() }, { $id: 'Thing' }))
  const second = compile(Type.Object({ b: Type.String() }, { $id: 'Thing' }))
  t.equal(first({ a: 'x' }), undefined)
  t.equal(second({ b: 'x' }), undefined)
  t.ok(second({ a: 'x' }))
})

test('a validator is compiled once per schema', async (t) => {
  const schema: JsonSchema = { type: 'integer' }
  t.equal(getValidator(schema), getValidator(schema))
  t.ok(getValidator(schema)('x'))
  t.ok(isKnownFormat('uuid'))
  t.notOk(isKnownFormat('constructor'))
})

test('ids are parsed from path segments, and ids that cannot exist are undefined', async (t) => {
  const read = (id: object, generate: 'uuid' | 'client' | 'storage' = 'client') =>
    readIdentity('things', toJsonSchema(Type.Object({ id: Type.Unsafe(id) })), { generate }).read
  const cases: Array<[string, (segment: string) => unknown, Record<string, unknown>]> = [
    [
      'integers',
      read(Type.Integer({ minimum: 1 }), 'storage'),
      {
        1: 1,
        42: 42,
        0: undefined,
        '01': undefined,
        '1.0': undefined,
        '1e3': undefined,
        '-1': undefined,
        ' 1': undefined,
        '': undefined,
        '9007199254740993': undefined,
        abc: undefined,
        Infinity: undefined
      }
    ],
    ['numbers', read(Type.Number()), { 7: 7, 1.5: undefined }],
    [
      'text',
      read(Type.String()),
      {
        a: 'a',
        'a/b': 'a/b',
        'ü ': 'ü ',
        '': undefined,
        '.': undefined,
        '..': undefined,
        '...': '...',
        'a\0': undefined
      }
    ],
    ['patterns', read(Type.String({ pattern: '^[a-z]+$' })), { abc: 'abc', ABC: undefined, 1: undefined }],
    ['constants', read(Type.Union([Type.Literal('a'), Type.Literal('b')])), { a: 'a', c: undefined }],
    [
      'uuids of the client, as they are',
      read(Type.String({ format: 'uuid' })),
      { '0190A000-0000-7000-8000-00000000ABCD': '0190A000-0000-7000-8000-00000000ABCD', x: undefined }
    ],
    [
      'uuids of the library, in any letter case (RFC 9562 section 4)',
      read(Type.String({ format: 'uuid' }), 'uuid'),
      { '0190A000-0000-7000-8000-00000000ABCD': '0190a000-0000-7000-8000-00000000abcd', x: undefined }
    ]
  ]
  for (const [what, reader, segments] of cases) {
    for (const [segment, id] of Object.entries(segments)) {
      t.equal(reader(segment), id, `${what}: ${JSON.stringify(segment)}`)
    }
  }
})

test('UUIDs of version 7 are in order of creation (RFC 9562, sections 5.7 and 6.2)', async (t) => {
  const ids = Array.from({ length: 20_000 }, createUuid)
  t.strictSame(ids.toSorted(), ids)
  t.equal(new Set(ids).size, ids.length)
  for (const id of ids.slice(0, 100)) {
    t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
  const listDigits = (at: number) => [...new Set(ids.map((id) => id[at]!))].toSorted().join('')
  t.equal(listDigits(19), '89ab', 'random bits in the digit of the variant')
  for (const at of [20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35]) {
    t.equal(listDigits(at), '0123456789abcdef', `random bits at ${at}`)
  }
  t.ok(Math.abs(Number.parseInt(ids[0]!.replace('-', '').slice(0, 12), 16) - Date.now()) < 60_000)
})

test('ids stay in order if the clock goes backward', async (t) => {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  const first = createUuid()
  Date.now = () => now() - 60_000
  const ids = [first, ...Array.from({ length: 10_000 }, createUuid)]
  t.strictSame(ids.toSorted(), ids, 'still in order if the counter overflows')
})

import { execFileSync } from 'node:child_process'
import { test } from 'tap'
import { Type } from '@sinclair/typebox'
import Type1 from 'typebox'
import { toCanonicalJson } from '../../lib/schema/canonical-json.ts'
import { carryOver } from '../../lib/schema/carry-over.ts'
import { hideWriteOnly, restoreWriteOnly } from '../../lib/schema/write-only.ts'
import { findChanges, fillDefaults, pickAnnotated, omitAnnotated } from '../../lib/schema/annotations.ts'
import { readProperties } from '../../lib/schema/properties.ts'
import { hasAnnotation, rewriteSchema } from '../../lib/schema/rewrite-schema.ts'
import type { JsonSchema } from '../../lib/storage/contract.ts'
import { resolveSchema, getSubschemas } from '../../lib/json-schema/subschemas.ts'
import { createUuid } from '../../lib/schema/uuid.ts'
import { isKnownFormat, getValidator } from '../../lib/schema/validation.ts'
import { isProportional } from '../growth.ts'

/** TypeBox schemas are JSON Schema without saying so. */
const toJsonSchema = (schema: object): JsonSchema => schema as JsonSchema

const properties = (schema: object) => readProperties(toJsonSchema(schema))

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
    $defs: {
      s: { type: 'string', writeOnly: true },
      alias: { $ref: '#/$defs/s' },
      circle: { $ref: '#/$defs/round' },
      round: { $ref: '#/$defs/circle' }
    },
    properties: {
      a: { $ref: '#/$defs/s' },
      b: { $ref: '#/$defs/absent/deeper' },
      c: { $ref: 'nowhere' },
      d: { $ref: 'nowhere', writeOnly: true },
      e: { $ref: '#' },
      f: { $ref: '#/$defs/alias' },
      g: { $ref: '#/$defs/circle' }
    }
  }
  t.strictSame(
    omitAnnotated({ a: 1, b: 2, c: 3, d: 4, e: { a: 5, b: 6 }, f: 7, g: 8 }, properties(pointed), 'writeOnly'),
    { b: 2, c: 3, e: { b: 6 }, g: 8 },
    'pointers within the schema, annotations beside a reference, unresolved references, and references to references'
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

test('a validator is compiled once per schema', async (t) => {
  const schema: JsonSchema = { type: 'integer' }
  t.equal(getValidator(schema), getValidator(schema))
  t.ok(getValidator(schema)('x'))
  t.ok(isKnownFormat('uuid'))
  t.notOk(isKnownFormat('constructor'))
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
})

test('a UUID of version 7 begins with the time', async (t) => {
  // In a process of its own: other tests of this one may have set the clock forward, and ids do not go back.
  const module = new URL('../../lib/schema/uuid.ts', import.meta.url).href
  const code = `import { createUuid } from '${module}'; console.log(createUuid())`
  const before = Date.now()
  const id = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })
  const time = Number.parseInt(id.replace('-', '').slice(0, 12), 16)
  t.ok(before <= time && time <= Date.now(), id)
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

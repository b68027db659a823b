import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import type { Test } from 'tap'
import { define } from '../../lib/index.ts'
import type { Change } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, logged, request } from '../app.ts'
import { isProportional } from '../growth.ts'

// What clients send is validated, and everything that is wrong is reported.

interface Failure {
  readonly pointer: string
  readonly message: string
}

type Validate = (value: unknown) => Promise<readonly Failure[] | undefined>

/** Defines a collection of items with this schema, and an id. */
function defineThings (schema: object, name = 'things') {
  const { properties, required = [] } = schema as { properties: object, required?: readonly string[] }
  const id = Type.String({ format: 'uuid', readOnly: true })
  const whole = { ...schema, properties: { id, ...properties }, required: ['id', ...required] }
  return define({ name, schema: whole as never, storage: memory() })
}

/** Returns a function that creates an item. It returns the errors of the response; undefined if the item is valid. */
async function compile (t: Test, schema: object): Promise<Validate> {
  const app = await build(t, defineThings(schema), { bodyLimit: 10_000_000 })
  return async (value) => {
    const response = await request(app, 'POST /things', { content: JSON.stringify(value) })
    if (response.statusCode === 201) return undefined
    if (response.statusCode !== 422) throw new Error(response.payload)
    return response.json().errors
  }
}

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
    const validate = await compile(t, schema)
    t.strictSame(((await validate(value)) ?? []).map(({ pointer }) => pointer), pointers, where)
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
  const validate = await compile(t, Item)
  const found = await validate({
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
      ['/name', 'must have at least 2 characters'],
      ['/email', 'must match format "email"'],
      ['/age', 'must be integer'],
      ['/role', 'must be one of "admin", "guest"'],
      ['/color', 'must be one of "red", "blue"'],
      ['/one', 'must be 1'],
      ['/lines/1/a~1b~0c', 'must be integer'],
      ['/nick', 'must have at least 3 characters, or must be null']
    ])
  )
  t.equal(
    await validate({
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
  for (const value of ['text', 1, null, []]) {
    t.strictSame(await validate(value), [{ pointer: '', message: 'must be object' }])
  }
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
    const validate = await compile(t, Type.Object({ u: Type.Unsafe(schema) }))
    const found = (await validate({ u: value })) ?? []
    t.strictSame(Object.fromEntries(found.map(({ pointer, message }) => [pointer, message])), wanted, what)
  }
})

test('an error in one array item does not hide an error in another', async (t) => {
  const values = Array.from({ length: 12 }, (_, index) => (index === 1 ? 'text' : { a: index === 10 ? 'x' : 1 }))
  const U = Type.Object({ u: Type.Array(Type.Union([Type.Object({ a: Type.Integer() }), Type.Null()])) })
  const found = await (await compile(t, U))({ u: values })
  t.strictSame(
    found?.map(({ pointer }) => pointer),
    ['/u/1', '/u/10/a']
  )
})

test('the number of errors and the time to find them are limited', async (t) => {
  const U = Type.Object({ u: Type.Array(Type.Union([Type.Object({ a: Type.Integer() }), Type.Null()])) })
  const validate = await compile(t, U)
  const find = (length: number) => validate({ u: Array.from({ length }, () => ({ a: 'x' })) })
  t.equal((await find(20_000))?.length, 100)
  t.ok(await isProportional(find, 5_000))
})

test('a value with too many errors for one schema can still be valid for another', async (t) => {
  const Wide = Type.Object(Object.fromEntries([...'abcdefgh'].map((name) => [name, Type.String()])))
  const Marked = Type.Object({ mark: Type.Boolean() })
  const check = async (schema: object, value: unknown) => {
    const validate = await compile(t, Type.Object({ value: schema as never }))
    return validate({ value })
  }
  const items = Array.from({ length: 2_000 }, () => ({ mark: true }))
  const Either = Type.Union([Type.Array(Wide), Type.Array(Marked)])
  t.equal(await check(Either, items), undefined)
  t.equal(await check(Type.Array(Either), [items, items]), undefined)
  t.strictSame(await check(Type.Object({ wide: Either, last: Type.String() }), { wide: items }), [
    { pointer: '/value/last', message: 'is required' }
  ])
  const oneOf = [{ type: 'array', items: Wide }, { type: 'array', items: Marked }]
  t.equal(await check({ oneOf }, items), undefined)
  t.match(await check({ oneOf: [...oneOf, { type: 'array', maxItems: 5000 }] }, items), [{ pointer: '/value' }])
  const wide = Object.fromEntries([...'abcdefgh'].map((name) => [name, name]))
  t.equal(await check({ type: 'array', contains: Wide }, [...items, wide]), undefined)
  const record = Object.fromEntries(items.map((item, index) => [`k${index}`, item]))
  const EitherRecord = Type.Union([Type.Record(Type.String(), Wide), Type.Record(Type.String(), Marked)])
  t.equal(await check(EitherRecord, record), undefined)
  t.equal(await check({ if: { type: 'array', items: Wide }, then: { maxItems: 1 }, else: { items: Marked } }, items), undefined)
  t.equal(await check({ not: { type: 'array', items: Wide } }, items), undefined)
})

test('the errors of a union with many branches count as one', async (t) => {
  const kinds = Array.from({ length: 20 }, (_, index) =>
    Type.Object({
      kind: Type.Literal(`kind${index}`),
      ...Object.fromEntries([...'abcdefghij'].map((name) => [name, Type.String()]))
    })
  )
  const blocks = Array.from({ length: 90 }, () => ({ kind: 'other' }))
  const found = await (await compile(t, Type.Object({ blocks: Type.Array(Type.Union(kinds)) })))({ blocks })
  t.equal(found?.length, 90)
  t.match(found?.at(-1), { pointer: '/blocks/89/kind', message: /^must be one of "kind0", "kind1", / })
  const Status = Type.Union([Type.Union([Type.Literal('open'), Type.Literal('done')]), Type.Null()])
  t.strictSame(await (await compile(t, Type.Object({ status: Status })))({ status: 'x' }), [
    { pointer: '/status', message: 'must be one of "open", "done", or must be null' }
  ])
})

test('validation takes time proportional to the content', async (t) => {
  // Ajv compares each item of an array with each other, unless they are known to be text or numbers.
  const Points = Type.Object({
    points: Type.Array(Type.Object({ x: Type.Integer(), y: Type.Integer() }), { uniqueItems: true })
  })
  const buildPoints = (length: number) => Array.from({ length }, (_, x) => ({ x, y: 0 }))
  const validatePoints = await compile(t, Points)
  t.equal(await validatePoints({ points: buildPoints(30_000) }), undefined)
  t.ok(await isProportional((length) => validatePoints({ points: buildPoints(length) }), 7_500))
  t.strictSame(await validatePoints({ points: [...buildPoints(30_000), { y: 0, x: 5 }] }), [
    { pointer: '/points', message: 'must not have duplicate items' }
  ])
  const validateNumbers = await compile(t, Type.Object({ points: Type.Array(Type.Integer(), { uniqueItems: false }) }))
  t.equal(await validateNumbers({ points: [1, 1] }), undefined)

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
  const validateExpression = await compile(t, Expression)
  t.equal(await validateExpression({ e: nested(10, 'or') }), undefined)
  t.ok(await validateExpression({ e: nested(6, 'and', { kind: 'none' }) }), 'invalid items are reported')
  for (const levels of [12, 60]) {
    t.strictSame(await validateExpression({ e: nested(levels, 'or') }), [
      { pointer: '', message: 'is nested in too many ways to be validated' }
    ])
  }
  // Hundreds of attempts have an error. They are neither kept nor searched.
  t.strictSame(await validateExpression({ e: nested(9, 'or', { kind: 'none' }) }), [
    { pointer: '/e/of/of/of/of', message: 'must match a schema in anyOf' }
  ])
  const Limited = Type.Object({
    e: Type.Recursive(
      (This) =>
        Type.Union([
          Type.Object({ kind: Type.Literal('and'), of: This }),
          Type.Object({ kind: Type.Literal('or'), of: This })
        ]),
      { $id: 'Limited' }
    )
  })
  const errors = await (await compile(t, Limited))({ e: nested(30, 'and') })
  t.ok(errors !== undefined && errors.length >= 1, 'if there are too many errors, the first is reported')

  const validateIntegers = await compile(t, Type.Object({ a: Type.Union([Type.Array(Type.Integer()), Type.Null()]) }))
  t.equal((await validateIntegers({ a: Array.from({ length: 330_000 }, () => '') }))?.length, 100)

  const Site = Type.Object({ site: Type.String({ format: 'url' }) })
  const validateSite = await compile(t, Site)
  t.equal((await validateSite({ site: `http://${':'.repeat(300_000)}!` }))?.length, 1)
  t.ok(await isProportional((length) => validateSite({ site: `http://${':'.repeat(length)}!` }), 75_000))
  t.equal(await validateSite({ site: 'https://ada:secret@example.com:8080/a?b#c' }), undefined)
})

test('an internal error during validation returns 500 and is logged', async (t) => {
  const Thing = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    a: Type.Union([Type.Null(), Type.Integer()])
  })
  const beforeValidation = ({ item }: Change<{ id: string, a: number | null }>) => Object.defineProperty({ ...item, a: null }, 'a', {
    enumerable: true,
    get () {
      // Once, so that an error which validation ignores is not thrown again by what comes next.
      if (reads++ === 0) throw new Error('unreadable')
      return 1
    }
  })
  let reads = 0
  const { lines, logger } = logged()
  const things = define({ name: 'things', schema: Thing, storage: memory(), hooks: { beforeValidation } })
  const app = await build(t, things, { logger })
  t.equal((await request(app, 'POST /things', { content: { a: 1 } })).statusCode, 500)
  t.match(lines, [{ err: { message: 'unreadable' } }])
})

test('validation does not coerce, remove or fill in values', async (t) => {
  const Thing = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    n: Type.Integer(),
    b: Type.Boolean(),
    d: Type.String({ default: 'x' })
  })
  /** What is validated after the hook, so that the library fills in no default. */
  const validate = async (value: object) => {
    const hooks = { beforeValidation: ({ item: { id } }: { item: { id: string } }) => ({ id, ...value }) as never }
    const app = await build(t, define({ name: 'things', schema: Thing, storage: memory(), hooks }))
    const response = await request(app, 'POST /things', { content: { n: 1, b: true } })
    return response.statusCode === 201 ? response.json() : response.json().code
  }
  const valid = { n: 1, b: true, d: 'y' }
  t.match(await validate(valid), valid)
  for (const wrong of [{ n: '1' }, { n: null }, { b: 'true' }, { b: 1 }, { extra: true }, { d: undefined }]) {
    t.equal(await validate({ ...valid, ...wrong }), 'validation-failed', JSON.stringify(wrong))
  }
})

test('one $id can be in several schemas', async (t) => {
  const app = await build(t, [
    defineThings(Type.Object({ a: Type.String() }, { $id: 'Thing' }), 'first'),
    defineThings(Type.Object({ b: Type.String() }, { $id: 'Thing' }), 'second')
  ])
  const create = async (name: string, content: object) => (await request(app, `POST /${name}`, { content })).statusCode
  t.equal(await create('first', { a: 'x' }), 201)
  t.equal(await create('second', { b: 'x' }), 201)
  t.equal(await create('second', { a: 'x' }), 422)
})

import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import { test } from 'tap'
import * as v from 'valibot'
import { z } from 'zod'
import { define } from '../../lib/index.ts'
import type { JsonSchema } from '../../lib/storage/contract.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, payload } from '../app.ts'

// How schemas of zod, valibot and arktype become JSON Schema, and which are refused at boot. What validation does
// beyond JSON Schema is in refinement.test.ts, and the starters in all libraries are in starters.test.ts.

const zodId = z.uuid().meta({ readOnly: true })
const valibotId = v.pipe(v.string(), v.uuid(), v.metadata({ readOnly: true }))
const arkId = type('string.uuid').configure({ readOnly: true })

/** Schemas whose property `a` is given. */
const ofZod = (a: z.ZodType) => z.object({ id: zodId, a })
const ofValibot = (a: v.GenericSchema) => toStandardJsonSchema(v.object({ id: valibotId, a }))
const ofArkType = (a: unknown) => type({ id: arkId, a } as never)

/** The JSON Schema of a definition. */
function convert (schema: unknown): JsonSchema {
  return define({ name: 'things', schema: schema as z.ZodObject, storage: memory() }).schema
}

test('types of each library become the JSON Schema that TypeBox writes', async (t) => {
  const literals = { anyOf: [{ const: 'a', type: 'string' }, { const: 'b', type: 'string' }] }
  const nullable = { anyOf: [{ type: 'string' }, { type: 'null' }] }
  const tuple = { type: 'array', items: [{ type: 'string' }, { type: 'number' }], minItems: 2 }
  const closed = { ...tuple, additionalItems: false }
  const record = { type: 'object', additionalProperties: { type: 'number' } }
  const cases: Array<[string, unknown, object]> = [
    ['zod: a format', ofZod(z.email()), { type: 'string', format: 'email' }],
    ['zod: a date-time', ofZod(z.iso.datetime()), { type: 'string', format: 'date-time' }],
    ['zod: a date-time with an offset', ofZod(z.iso.datetime({ offset: true })), { type: 'string', format: 'date-time' }],
    ['zod: a date', ofZod(z.iso.date()), { type: 'string', format: 'date' }],
    ['zod: a format that Ajv does not know', ofZod(z.jwt()), { type: 'string' }],
    ['zod: an integer', ofZod(z.int()), { type: 'integer' }],
    ['zod: an integer with limits', ofZod(z.int().min(1).max(9)), { type: 'integer', minimum: 1, maximum: 9 }],
    ['zod: an enumeration', ofZod(z.enum(['a', 'b'])), literals],
    ['zod: an enumeration of one', ofZod(z.enum(['a'])), { const: 'a', type: 'string' }],
    ['zod: a union of literals', ofZod(z.union([z.literal('a'), z.literal('b')])), literals],
    ['zod: a nullable string', ofZod(z.string().nullable()), nullable],
    ['zod: a tuple', ofZod(z.tuple([z.string(), z.number()])), { ...closed, maxItems: 2 }],
    ['zod: a record', ofZod(z.record(z.string(), z.number())), record],
    ['zod: a pattern', ofZod(z.string().regex(/^x/)), { type: 'string', pattern: '^x' }],
    ['zod: a pattern with flags', ofZod(z.string().regex(/^x/i)), { type: 'string' }],
    ['zod: two patterns, one with flags', ofZod(z.string().regex(/^x/i).regex(/y$/)), { type: 'string' }],
    ['zod: undefined in a union', ofZod(z.union([z.string(), z.undefined()])), { type: 'string' }],
    ['zod: trim', ofZod(z.string().trim()), { type: 'string' }],
    ['zod: keywords of meta()', ofZod(z.string().meta({ examples: ['x'], writeOnly: true, title: 'A' })),
      { type: 'string', examples: ['x'], writeOnly: true, title: 'A' }],
    ['zod: anything', ofZod(z.unknown()), {}],
    ['zod: a default that is a function of a constant', ofZod(z.array(z.string()).default(() => [])),
      { type: 'array', items: { type: 'string' }, default: [] }],
    ['zod: an open object', ofZod(z.looseObject({ b: z.string() })),
      { type: 'object', properties: { b: { type: 'string' } }, required: ['b'], additionalProperties: {} }],
    ['zod: a closed object', ofZod(z.strictObject({ b: z.string() })),
      { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] }],
    ['zod: a default inside', ofZod(z.object({ b: z.string().default('x'), c: z.string().optional() })), {
      type: 'object',
      properties: { b: { type: 'string', default: 'x' }, c: { type: 'string' } },
      required: ['b']
    }],
    ['valibot: a format', ofValibot(v.pipe(v.string(), v.email())), { type: 'string', format: 'email' }],
    ['valibot: a date-time', ofValibot(v.pipe(v.string(), v.isoTimestamp())), { type: 'string', format: 'date-time' }],
    ['valibot: a time', ofValibot(v.pipe(v.string(), v.isoTime())), { type: 'string' }],
    ['valibot: an enumeration', ofValibot(v.picklist(['a', 'b'])), literals],
    ['valibot: a literal', ofValibot(v.literal(1)), { const: 1, type: 'number' }],
    ['valibot: a nullable string', ofValibot(v.nullable(v.string())), nullable],
    ['valibot: a tuple', ofValibot(v.tuple([v.string(), v.number()])), tuple],
    ['valibot: a record', ofValibot(v.record(v.string(), v.number())), record],
    ['valibot: a refinement', ofValibot(v.pipe(v.string(), v.check(() => true), v.minLength(2))),
      { type: 'string', minLength: 2 }],
    ['valibot: a transformation of the same type', ofValibot(v.pipe(v.string(), v.trim())), { type: 'string' }],
    ['valibot: a brand', ofValibot(v.pipe(v.string(), v.brand('A'), v.readonly())), { type: 'string' }],
    ['valibot: a pattern with flags', ofValibot(v.pipe(v.string(), v.regex(/^x/i))), { type: 'string' }],
    ['valibot: two patterns', ofValibot(v.pipe(v.string(), v.regex(/^x/), v.regex(/y$/))),
      { type: 'string', pattern: '^x' }],
    ['valibot: undefined in a union', ofValibot(v.union([v.string(), v.number(), v.undefined()])),
      { anyOf: [{ type: 'string' }, { type: 'number' }] }],
    ['valibot: an open object', ofValibot(v.objectWithRest({}, v.unknown())),
      { type: 'object', properties: {}, additionalProperties: {} }],
    ['arktype: a format', ofArkType('string.email'), { type: 'string', format: 'email' }],
    ['arktype: a UUID', ofArkType('string.uuid'), { type: 'string', format: 'uuid', description: 'a UUID' }],
    ['arktype: an enumeration', ofArkType('"a" | "b"'), literals],
    ['arktype: a nullable string', ofArkType('string | null'), nullable],
    ['arktype: a tuple', ofArkType(['string', 'number']), closed],
    ['arktype: a record', ofArkType('Record<string, number>'), record],
    ['arktype: a refinement', ofArkType(type('string').narrow(() => true)), { type: 'string' }],
    ['arktype: a pattern with flags', ofArkType(/^x/i), { type: 'string' }],
    ['arktype: two patterns', ofArkType(type(/^x/).and(/y$/)), { type: 'string', pattern: '^x' }],
    ['arktype: undefined in a union', ofArkType('string | undefined'), { type: 'string' }],
    ['arktype: a nullable date-time',
      ofArkType(type('string.date.iso').configure({ format: 'date-time' }).or('null').configure({ readOnly: false })),
      { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }], readOnly: false }]
  ]
  for (const [title, schema, expected] of cases) t.strictSame(convert(schema).properties?.a, expected, title)
})

test('an optional property with a default is required, in each library', async (t) => {
  const schemas = [
    z.object({ id: zodId, a: z.string().default('x'), b: z.string().optional() }),
    toStandardJsonSchema(v.object({ id: valibotId, a: v.optional(v.string(), 'x'), b: v.optional(v.string()) })),
    type({ id: arkId, a: 'string = "x"', 'b?': 'string' })
  ]
  for (const schema of schemas) {
    const { properties, required } = convert(schema)
    t.strictSame(required?.toSorted(), ['a', 'id'])
    t.strictSame(properties?.a, { type: 'string', default: 'x' })
  }
})

test('schemas that have an id, contain themselves, or are converted already', async (t) => {
  const Named = z.object({ id: zodId, a: z.string() }).meta({ id: 'NamedThing', title: 'A thing' })
  const named = convert(Named)
  t.match(named, { type: 'object', title: 'A thing', properties: { a: { type: 'string' } } })
  t.notOk('$defs' in named)

  const Branch = z.object({
    name: z.string(),
    get children (): z.ZodDefault<z.ZodArray<typeof Branch>> {
      return z.array(Branch).default([])
    }
  })
  const Tree = z.object({ id: zodId, ...Branch.shape })
  const app = await build(t, define({ name: 'trees', schema: Tree, storage: memory() }))
  const tree = { name: 'a', children: [{ name: 'b', children: [] }] }
  t.equal((await app.inject({ method: 'POST', url: '/trees', ...payload(tree) })).statusCode, 201)
  const wrong = { name: 'a', children: [{ name: 1, children: [] }] }
  const response = await app.inject({ method: 'POST', url: '/trees', ...payload(wrong) })
  t.strictSame(response.json().errors, [{ pointer: '/children/0/name', message: 'must be string' }])

  const converted = z.toJSONSchema(ofZod(z.string().refine(() => false)))
  const things = await build(t, define({ name: 'things', schema: converted, storage: memory() }))
  const { statusCode } = await things.inject({ method: 'POST', url: '/things', ...payload({ a: 'x' }) })
  t.equal(statusCode, 201, 'JSON Schema has no refinements')
})

test('what JSON does not have, or a collection cannot apply, is refused at boot', async (t) => {
  const of = (library: string) => `Collection things: the property "a" of the schema is of the type ${library}, which JSON`
  const cases: Array<[string, unknown, string]> = [
    ['zod: Date', ofZod(z.date()), `${of('Date')} does not have. Use a string with the format date-time, such as z.iso`],
    ['zod: an optional Date', ofZod(z.date().optional()), of('Date')],
    ['zod: bigint', ofZod(z.bigint()), `${of('bigint')} does not have. Use an integer from -9007199254740991 to`],
    ['zod: Map', ofZod(z.map(z.string(), z.string())), `${of('Map')} does not have. Use a record.`],
    ['zod: Set', ofZod(z.set(z.string())), `${of('Set')} does not have. Use an array.`],
    ['zod: undefined', ofZod(z.undefined()), `${of('undefined')} does not have. Make the property optional.`],
    ['zod: symbol', ofZod(z.symbol()), of('symbol')],
    ['zod: a literal', ofZod(z.literal(1n)), 'cannot be written as JSON Schema: a literal that JSON does not have.'],
    ['zod: a custom type', ofZod(z.custom<string>()), 'cannot be written as JSON Schema: a custom type.'],
    ['zod: a transformation', ofZod(z.string().transform(Number)),
      'the property "a" of the schema has a transformation. An item has one form'],
    ['zod: preprocess', ofZod(z.preprocess(String, z.string())), 'has a transformation'],
    ['zod: coerce', ofZod(z.coerce.number()), 'has a coercion. Content is not coerced. Remove coerce.'],
    ['zod: catch', ofZod(z.string().catch('x')), 'has a catch. Invalid content is refused. Use a default'],
    ['zod: a pipe', ofZod(z.string().pipe(z.string().min(3))),
      'the property "a" changes its type or its restrictions when it is validated: from {"type":"string"} to'],
    ['zod: stringbool', ofZod(z.stringbool()), 'from {"type":"string"} to {"type":"boolean"}'],
    ['zod: a codec', ofZod(z.codec(z.iso.datetime(), z.date(), {
      decode: (text) => new Date(text),
      encode: (date) => date.toISOString()
    })), of('Date')],
    ['zod: prefault', ofZod(z.string().prefault('x')), 'has a default only before or only after validation.'],
    ['zod: a default that changes', ofZod(z.string().default(() => crypto.randomUUID())),
      'the default of the property "a" is a function that returns another value each time.'],
    ['zod: a default that is the time', ofZod(z.string().default(() => new Date().toISOString())),
      'the default of the property "a" is a function'],
    ['zod: a default that is the time, as a number', ofZod(z.number().default(() => Date.now())),
      'the default of the property "a" is a function'],
    ['zod: at any depth', ofZod(z.array(z.object({ b: z.record(z.string(), z.object({ c: z.date() })) }))),
      'the property "a.b.c" of the schema is of the type Date'],
    ['zod: a different part at any depth', ofZod(z.array(z.object({ b: z.string().pipe(z.string().max(1)) }))),
      'the property "a[].b" changes'],
    ['zod: a union with a difference', ofZod(z.union([z.number(), z.object({ b: z.stringbool() })])),
      'the property "a.b" changes'],
    ['zod: a date-time without milliseconds', ofZod(z.iso.datetime({ precision: 0 })),
      'a date-time is stored in UTC with milliseconds'],
    ['zod: an unknown format', ofZod(z.string().meta({ format: 'decimal' })), 'the format "decimal" is unknown'],
    ['zod: a default that is invalid', ofZod(z.string().min(3).default('x')), 'the default "x" is invalid'],
    ['zod: a transformation of the whole', z.object({ id: zodId }).transform((item) => item),
      'Collection things: the schema has a transformation.'],
    ['zod: an array', z.array(z.string()), 'the schema describes a value of the type array. Use an object with named'],
    ['zod: a union', z.union([z.object({ id: zodId }), z.object({ id: zodId, a: z.string() })]),
      'the schema describes no single object.'],
    ['zod: a record', z.record(z.string(), z.string()), 'the schema describes no single object.'],
    ['valibot: Date', ofValibot(v.date()), 'such as v.pipe(v.string(), v.isoTimestamp()).'],
    ['valibot: bigint', ofValibot(v.bigint()), of('bigint')],
    ['valibot: Map', ofValibot(v.map(v.string(), v.string())), of('Map')],
    ['valibot: a transformation', ofValibot(v.pipe(v.string(), v.transform(Number))), 'has a transformation'],
    ['valibot: a default that changes', ofValibot(v.optional(v.string(), () => crypto.randomUUID())), 'is a function'],
    ['valibot: a local time', ofValibot(v.pipe(v.string(), v.isoDateTime())),
      'has a date-time without an offset. Use v.isoTimestamp()'],
    ['valibot: an instance', ofValibot(v.instance(URL)), 'The "instance" schema cannot be converted to JSON Schema.'],
    ['valibot: no converter', v.object({ id: valibotId }),
      'the schema of valibot has no JSON Schema. Install @valibot/to-json-schema, and write schema: toStandardJson'],
    ['arktype: Date', ofArkType('Date'), 'such as type(\'string.date.iso\').configure({ format: \'date-time\' }).'],
    ['arktype: Date with limits', ofArkType('Date > d"2020-01-01"'), of('Date')],
    ['arktype: bigint', ofArkType('bigint'), of('bigint')],
    ['arktype: Map', ofArkType('Map'), of('Map')],
    ['arktype: undefined', ofArkType('undefined'), of('undefined')],
    ['arktype: a transformation', ofArkType(type('string').pipe((text) => text.length)), 'has a transformation'],
    ['arktype: trim', ofArkType('string.trim'), 'has a transformation'],
    ['arktype: a default that changes', ofArkType(type('string').default(() => crypto.randomUUID())), 'is a function'],
    ['arktype: a string', type('string'), 'the schema describes a value of the type string.']
  ]
  for (const [title, schema, message] of cases) {
    const thrown = t.throws(() => convert(schema), { code: 'FST_COLLECTION_BAD_SCHEMA' }, title) as Error
    t.ok(thrown.message?.includes(message), `${title}: ${thrown.message}`)
  }
})

/** A schema of a library that does not exist. */
const foreign = (standard: unknown) => ({ '~standard': standard })

const object = (properties: object, required: string[] = Object.keys(properties)) => ({
  type: 'object',
  properties: { id: { type: 'string', format: 'uuid', readOnly: true }, ...properties },
  required: ['id', ...required]
})

test('foreign objects and converters that fail are refused at boot', async (t) => {
  const converter = (input: () => unknown, output = input) => (
    foreign({ version: 1, vendor: 'acme', validate: (value: unknown) => ({ value }), jsonSchema: { input, output } })
  )
  const cases: Array<[string, unknown, RegExp]> = [
    ['nothing', null, /does not describe an object\. Use Type\.Object.* or an object of zod, valibot or arktype\./],
    ['a text', 'User', /does not describe an object/],
    ['a date', new Date(), /does not describe an object/],
    ['a function', () => ({}), /does not describe an object/],
    ['a class', class User {}, /does not describe an object/],
    ['no Standard Schema', foreign({}), /has "~standard", but is not a Standard Schema: it has no vendor\. Use a schema/],
    ['null', foreign(null), /it has no vendor/],
    ['no JSON Schema', foreign({ version: 1, vendor: 'acme', validate () {} }),
      /the schema of acme has no JSON Schema\. Use a version or a converter/],
    ['an old zod', foreign({ version: 1, vendor: 'zod', validate () {} }), /Install zod 4\.2 or newer, and import it from zod: zod\/mini has none\./],
    ['an old arktype', foreign({ version: 1, vendor: 'arktype', validate () {} }), /Install arktype 2\.1\.28 or newer\./],
    ['a converter that throws', converter(() => { throw new Error('Never heard of it') }),
      /acme cannot convert the schema to JSON Schema\. Never heard of it\. Use types that JSON has/],
    // eslint-disable-next-line no-throw-literal
    ['a converter that throws a text', converter(() => { throw 'Nope.' }), /JSON Schema\. Nope\. Use/],
    ['a converter that returns nothing', converter(() => undefined), /It returns undefined instead of an object\./],
    ['a default that is not shown', converter(() => object({ a: {} }, []), () => object({ a: {} })),
      /the property "a" can be left out, and its library sets it then, but its JSON Schema has no default\./],
    ['a property that is removed', converter(() => object({ a: {} }), () => object({})), /the schema changes its type/],
    ['a long difference', converter(() => object({ a: { pattern: 'x'.repeat(200) } }), () => object({ a: {} })),
      /from \{"pattern":"x{80,95}\.\.\. to \{\}/]
  ]
  for (const [title, schema, message] of cases) {
    t.throws(() => convert(schema), { code: 'FST_COLLECTION_BAD_SCHEMA', message }, title)
  }
})

test('a schema without validate is checked by Ajv alone', async (t) => {
  const convertIt = () => object({ a: { type: 'string' } })
  const schema = foreign({ version: 1, vendor: 'acme', jsonSchema: { input: convertIt, output: convertIt } })
  const definition = define({ name: 'things', schema: schema as z.ZodObject, storage: memory() })
  const app = await build(t, definition)
  const { statusCode } = await app.inject({ method: 'POST', url: '/things', ...payload({ a: 'x' }) })
  t.equal(statusCode, 201)
})

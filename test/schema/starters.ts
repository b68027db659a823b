import { Type } from '@sinclair/typebox'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import Type1 from 'typebox'
import * as v from 'valibot'
import { z } from 'zod'

// The schemas of the starters articles, users and products, in each library.

// arktype adds what is declared here to its JSON Schema.
declare global {
  interface ArkEnv {
    meta(): { readOnly?: boolean, writeOnly?: boolean, immutable?: boolean }
  }
}

export const typebox = {
  Article: Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    authorId: Type.String({ format: 'uuid' }),
    slug: Type.String({ maxLength: 200, readOnly: true }),
    title: Type.String({ minLength: 1, maxLength: 200 }),
    text: Type.String({ maxLength: 100_000, default: '' }),
    status: Type.Union([Type.Literal('draft'), Type.Literal('published')], { default: 'draft', readOnly: true }),
    publishedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { readOnly: true }),
    createdAt: Type.String({ format: 'date-time', readOnly: true }),
    updatedAt: Type.String({ format: 'date-time', readOnly: true })
  }),
  Author: Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    name: Type.String({ minLength: 1, maxLength: 200 }),
    about: Type.Optional(Type.String({ maxLength: 2000 }))
  }),
  User: Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    email: Type.String({ format: 'email', maxLength: 200 }),
    name: Type.String({ minLength: 1, maxLength: 200 }),
    role: Type.Union([Type.Literal('admin'), Type.Literal('member')], { default: 'member', readOnly: true }),
    password: Type.String({ minLength: 8, maxLength: 200, writeOnly: true }),
    createdAt: Type.String({ format: 'date-time', readOnly: true }),
    updatedAt: Type.String({ format: 'date-time', readOnly: true })
  }),
  Grant: Type.Object({ role: Type.Union([Type.Literal('admin'), Type.Literal('member')]) }),
  Product: Type.Object({
    sku: Type.String({ pattern: '^[a-z0-9-]+$', maxLength: 50 }),
    name: Type.String({ minLength: 1, maxLength: 200 }),
    price: Type.String({ pattern: '^[0-9]{1,9}\\.[0-9]{2}$' }),
    stock: Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 }),
    updatedAt: Type.String({ format: 'date-time', readOnly: true })
  }),
  Purchase: Type.Object({ quantity: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 1 })) }),
  Receipt: Type.Object({
    sku: Type.String(),
    quantity: Type.Integer(),
    total: Type.String(),
    left: Type.Integer()
  })
}

export const typebox1 = {
  Article: Type1.Object({
    id: Type1.String({ format: 'uuid', readOnly: true }),
    authorId: Type1.String({ format: 'uuid' }),
    slug: Type1.String({ maxLength: 200, readOnly: true }),
    title: Type1.String({ minLength: 1, maxLength: 200 }),
    text: Type1.String({ maxLength: 100_000, default: '' }),
    status: Type1.Union([Type1.Literal('draft'), Type1.Literal('published')], { default: 'draft', readOnly: true }),
    publishedAt: Type1.Union([Type1.String({ format: 'date-time' }), Type1.Null()], { readOnly: true }),
    createdAt: Type1.String({ format: 'date-time', readOnly: true }),
    updatedAt: Type1.String({ format: 'date-time', readOnly: true })
  }),
  Author: Type1.Object({
    id: Type1.String({ format: 'uuid', readOnly: true }),
    name: Type1.String({ minLength: 1, maxLength: 200 }),
    about: Type1.Optional(Type1.String({ maxLength: 2000 }))
  }),
  User: Type1.Object({
    id: Type1.String({ format: 'uuid', readOnly: true }),
    email: Type1.String({ format: 'email', maxLength: 200 }),
    name: Type1.String({ minLength: 1, maxLength: 200 }),
    role: Type1.Union([Type1.Literal('admin'), Type1.Literal('member')], { default: 'member', readOnly: true }),
    password: Type1.String({ minLength: 8, maxLength: 200, writeOnly: true }),
    createdAt: Type1.String({ format: 'date-time', readOnly: true }),
    updatedAt: Type1.String({ format: 'date-time', readOnly: true })
  }),
  Grant: Type1.Object({ role: Type1.Union([Type1.Literal('admin'), Type1.Literal('member')]) }),
  Product: Type1.Object({
    sku: Type1.String({ pattern: '^[a-z0-9-]+$', maxLength: 50 }),
    name: Type1.String({ minLength: 1, maxLength: 200 }),
    price: Type1.String({ pattern: '^[0-9]{1,9}\\.[0-9]{2}$' }),
    stock: Type1.Integer({ minimum: 0, maximum: 1_000_000, default: 0 }),
    updatedAt: Type1.String({ format: 'date-time', readOnly: true })
  }),
  Purchase: Type1.Object({ quantity: Type1.Optional(Type1.Integer({ minimum: 1, maximum: 1000, default: 1 })) }),
  Receipt: Type1.Object({
    sku: Type1.String(),
    quantity: Type1.Integer(),
    total: Type1.String(),
    left: Type1.Integer()
  })
}

export const zod = {
  Article: z.object({
    id: z.uuid().meta({ readOnly: true }),
    authorId: z.uuid(),
    slug: z.string().max(200).meta({ readOnly: true }),
    title: z.string().min(1).max(200),
    text: z.string().max(100_000).default(''),
    status: z.enum(['draft', 'published']).default('draft').meta({ readOnly: true }),
    publishedAt: z.iso.datetime().nullable().meta({ readOnly: true }),
    createdAt: z.iso.datetime().meta({ readOnly: true }),
    updatedAt: z.iso.datetime().meta({ readOnly: true })
  }),
  Author: z.object({
    id: z.uuid().meta({ readOnly: true }),
    name: z.string().min(1).max(200),
    about: z.string().max(2000).optional()
  }),
  User: z.object({
    id: z.uuid().meta({ readOnly: true }),
    email: z.email().max(200),
    name: z.string().min(1).max(200),
    role: z.enum(['admin', 'member']).default('member').meta({ readOnly: true }),
    password: z.string().min(8).max(200).meta({ writeOnly: true }),
    createdAt: z.iso.datetime().meta({ readOnly: true }),
    updatedAt: z.iso.datetime().meta({ readOnly: true })
  }),
  Grant: z.object({ role: z.enum(['admin', 'member']) }),
  Product: z.object({
    sku: z.string().regex(/^[a-z0-9-]+$/).max(50),
    name: z.string().min(1).max(200),
    price: z.string().regex(/^[0-9]{1,9}\.[0-9]{2}$/),
    stock: z.int().min(0).max(1_000_000).default(0),
    updatedAt: z.iso.datetime().meta({ readOnly: true })
  }),
  Purchase: z.object({ quantity: z.int().min(1).max(1000).default(1) }),
  Receipt: z.object({ sku: z.string(), quantity: z.int(), total: z.string(), left: z.int() })
}

const timestamp = v.pipe(v.string(), v.isoTimestamp(), v.metadata({ readOnly: true }))

export const valibot = {
  Article: toStandardJsonSchema(v.object({
    id: v.pipe(v.string(), v.uuid(), v.metadata({ readOnly: true })),
    authorId: v.pipe(v.string(), v.uuid()),
    slug: v.pipe(v.string(), v.maxLength(200), v.metadata({ readOnly: true })),
    title: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    text: v.optional(v.pipe(v.string(), v.maxLength(100_000)), ''),
    status: v.optional(v.pipe(v.picklist(['draft', 'published']), v.metadata({ readOnly: true })), 'draft'),
    publishedAt: v.pipe(v.nullable(v.pipe(v.string(), v.isoTimestamp())), v.metadata({ readOnly: true })),
    createdAt: timestamp,
    updatedAt: timestamp
  })),
  Author: toStandardJsonSchema(v.object({
    id: v.pipe(v.string(), v.uuid(), v.metadata({ readOnly: true })),
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    about: v.exactOptional(v.pipe(v.string(), v.maxLength(2000)))
  })),
  User: toStandardJsonSchema(v.object({
    id: v.pipe(v.string(), v.uuid(), v.metadata({ readOnly: true })),
    email: v.pipe(v.string(), v.email(), v.maxLength(200)),
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    role: v.optional(v.pipe(v.picklist(['admin', 'member']), v.metadata({ readOnly: true })), 'member'),
    password: v.pipe(v.string(), v.minLength(8), v.maxLength(200), v.metadata({ writeOnly: true })),
    createdAt: timestamp,
    updatedAt: timestamp
  })),
  Grant: toStandardJsonSchema(v.object({ role: v.picklist(['admin', 'member']) })),
  Product: toStandardJsonSchema(v.object({
    sku: v.pipe(v.string(), v.regex(/^[a-z0-9-]+$/), v.maxLength(50)),
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    price: v.pipe(v.string(), v.regex(/^[0-9]{1,9}\.[0-9]{2}$/)),
    stock: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000)), 0),
    updatedAt: timestamp
  })),
  Purchase: toStandardJsonSchema(v.object({
    quantity: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000)), 1)
  })),
  Receipt: toStandardJsonSchema(v.object({
    sku: v.string(),
    quantity: v.pipe(v.number(), v.integer()),
    total: v.string(),
    left: v.pipe(v.number(), v.integer())
  }))
}

const uuid = type('string').configure({ format: 'uuid' })
const dateTime = type('string.date.iso').configure({ format: 'date-time' })

export const arktype = {
  Article: type({
    id: uuid.configure({ readOnly: true }),
    authorId: uuid,
    slug: type('string <= 200').configure({ readOnly: true }),
    title: '1 <= string <= 200',
    text: 'string <= 100000 = ""',
    status: type('"draft" | "published"').configure({ readOnly: true }).default('draft'),
    publishedAt: dateTime.or('null').configure({ readOnly: true }),
    createdAt: dateTime.configure({ readOnly: true }),
    updatedAt: dateTime.configure({ readOnly: true })
  }),
  Author: type({
    id: uuid.configure({ readOnly: true }),
    name: '1 <= string <= 200',
    'about?': 'string <= 2000'
  }),
  User: type({
    id: uuid.configure({ readOnly: true }),
    // A limit removes the format.
    email: type('string.email <= 200').configure({ format: 'email' }),
    name: '1 <= string <= 200',
    role: type('"admin" | "member"').configure({ readOnly: true }).default('member'),
    password: type('8 <= string <= 200').configure({ writeOnly: true }),
    createdAt: dateTime.configure({ readOnly: true }),
    updatedAt: dateTime.configure({ readOnly: true })
  }),
  Grant: type({ role: '"admin" | "member"' }),
  Product: type({
    sku: '/^[a-z0-9-]+$/ <= 50',
    name: '1 <= string <= 200',
    price: '/^[0-9]{1,9}\\.[0-9]{2}$/',
    stock: '0 <= number.integer <= 1000000 = 0',
    updatedAt: dateTime.configure({ readOnly: true })
  }),
  Purchase: type({ quantity: '1 <= number.integer <= 1000 = 1' }),
  Receipt: type({ sku: 'string', quantity: 'number.integer', total: 'string', left: 'number.integer' })
}

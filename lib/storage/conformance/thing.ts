import type { JsonSchema, Shape } from '../contract.ts'

/** An item of the suite. */
export type Thing = Readonly<Record<string, unknown>>

const text: JsonSchema = { type: 'string' }
const short: JsonSchema = { type: 'string', maxLength: 60 }
const orNull = (type: string): JsonSchema => ({ type: [type, 'null'] })

const schema: JsonSchema = {
  type: 'object',
  properties: {
    id: short,
    name: text,
    note: orNull('string'),
    rank: orNull('integer'),
    price: { type: 'number' },
    done: { type: 'boolean' },
    at: { type: 'string', format: 'date-time' },
    tags: { type: 'array', items: text },
    // A keyword of most query languages.
    order: text,
    place: {
      type: 'object',
      properties: {
        city: text,
        floor: orNull('integer'),
        open: { type: 'boolean' },
        since: { type: 'string', format: 'date-time' },
        position: { type: 'object', properties: { latitude: { type: 'number' } } }
      }
    },
    email: { type: ['string', 'null'], maxLength: 60 },
    team: short,
    number: orNull('integer')
  },
  required: ['id', 'name'],
  additionalProperties: false
}

export const things: Shape = {
  name: 'things',
  schema,
  id: { property: 'id', generate: 'client' },
  unique: [['email'], ['team', 'number']]
}

const withInteger: JsonSchema = { ...schema, properties: { ...schema.properties, id: { type: 'integer' } } }

export const numberedThings: Shape = { ...things, schema: withInteger }

export const generatedThings: Shape = { ...things, schema: withInteger, id: { property: 'id', generate: 'storage' } }

const arrays: Readonly<Record<string, JsonSchema>> = {
  numbers: { type: 'array', items: { type: 'number' } },
  flags: { type: ['array', 'null'], items: orNull('boolean') },
  type: { type: 'array', items: text },
  value: { type: 'array', items: text },
  place: { type: 'object', properties: { codes: { type: 'array', items: text } } }
}

export const arrayThings: Shape = {
  ...things,
  schema: { ...schema, properties: { ...schema.properties, ...arrays } }
}

const uuid: JsonSchema = { type: 'string', format: 'uuid' }

export const uuidThings: Shape = { ...things, schema: { ...schema, properties: { ...schema.properties, id: uuid } } }

import type { Shape } from '../../lib/storage/index.ts'

// For tests that use a storage without a definition.

type JsonSchema = Shape['schema']

const text: JsonSchema = { type: 'string' }
const short: JsonSchema = { type: 'string', maxLength: 60 }
const orNull = (type: string): JsonSchema => ({ type: [type, 'null'] })

/** The shape of an item with every kind of column. */
export const things: Shape = {
  name: 'things',
  schema: {
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
  },
  id: { property: 'id', generate: 'client' },
  unique: [['email'], ['team', 'number']]
}

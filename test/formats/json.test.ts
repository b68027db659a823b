import { test } from 'tap'
import { json } from '../../lib/index.ts'
import { hal } from '../../lib/formats/hal.ts'

const schema = { type: 'object', properties: { a: { type: 'integer' } } }
const links = { list: {}, items: [] }

test('JSON is described by its schema, and HAL adds links and embeds the items of a list', async (t) => {
  t.equal(json.describe(schema), schema)
  t.equal(hal.list([{ a: 1 }], links, schema), '{"_links":{},"_embedded":{"items":[{"_links":{},"a":1}]}}')
  t.strictSame(Object.keys(hal.describe(schema).properties ?? {}), ['_links', 'a'])
  t.match(hal.describe({ type: 'array', items: schema }), {
    type: 'object',
    required: ['_links', '_embedded'],
    properties: { _embedded: { properties: { items: { items: schema } } } }
  })
})

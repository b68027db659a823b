import type { Format } from './format.ts'
import { parseIJson } from './i-json.ts'

/** `application/json`: plain JSON. Add it to `formats` of a definition. */
export const json: Format = {
  name: 'json',
  mediaType: 'application/json',
  keepsItems: true,
  parse: parseIJson,
  item: (item) => JSON.stringify(item),
  list: (items) => JSON.stringify(items),
  hasLinks: false,
  describe: (schema) => schema
}

import { isObject } from '../http/json-value.ts'
import type { Members as Json } from '../http/json-value.ts'

// OpenAPI 3.0, which is what @fastify/swagger makes unless it is told otherwise: its schemas know no null, no constants and no tuples.

/** Their values are data. */
const data = new Set(['example', 'default', 'enum'])
/** Their names are those of properties. */
const maps = new Set(['properties', 'patternProperties', '$defs'])

/** Any part of a document, as 3.0 has it. */
export function version30 (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(version30)
  if (!isObject(value)) return value
  const out: Json = {}
  for (const [keyword, inner] of Object.entries(value)) {
    const written = maps.has(keyword) && isObject(inner) ? Object.fromEntries(Object.entries(inner).map(([name, schema]) => [name, version30(schema)])) : data.has(keyword) ? inner : version30(inner)
    Object.assign(out, keywords[keyword]?.(written, value) ?? { [keyword]: written })
  }
  return out
}

function isNull (schema: unknown): boolean {
  return isObject(schema) && schema.type === 'null'
}

/** Nothing but null; which type may be null is all the same. */
const nothing: Json = { type: 'object', nullable: true, enum: [null] }

const union = (keyword: string) => (written: unknown): Json | undefined => {
  if (!Array.isArray(written) || !written.some(isNull)) return undefined
  const [only, ...others] = written.filter(choice => !isNull(choice)) as Json[]
  return others.length === 0 && only?.type !== undefined ? { ...only, nullable: true } : { [keyword]: written.map(choice => isNull(choice) ? nothing : choice) }
}

const exclusive = (bound: string, keyword: string) => (written: unknown): Json => ({ [bound]: written, [keyword]: true })

const keywords: Readonly<Record<string, (written: unknown, schema: Json) => Json | undefined>> = {
  type: written => {
    if (!Array.isArray(written)) return undefined
    const [only, ...others] = written.filter(type => type !== 'null') as string[]
    const nullable = others.length + 1 < written.length
    if (others.length === 0) return { type: only, nullable }
    return { anyOf: [...[only, ...others].map(type => ({ type })), ...nullable ? [nothing] : []] }
  },
  anyOf: union('anyOf'),
  oneOf: union('oneOf'),
  const: written => ({ enum: [written] }),
  examples: written => ({ example: [written].flat()[0] }),
  exclusiveMinimum: exclusive('minimum', 'exclusiveMinimum'),
  exclusiveMaximum: exclusive('maximum', 'exclusiveMaximum'),
  prefixItems: written => ({ items: { anyOf: written } }),
  patternProperties: written => ({ additionalProperties: { anyOf: Object.values(written as Json) } }),
  additionalProperties: (_written, { patternProperties }) => patternProperties === undefined ? undefined : {},
  unevaluatedProperties: () => ({})
}

import { _ } from 'ajv'
import type { Ajv2019, CodeKeywordDefinition, KeywordCxt } from 'ajv/dist/2019.js'
import anyOf from 'ajv/dist/vocabularies/applicator/anyOf.js'
import oneOf from 'ajv/dist/vocabularies/applicator/oneOf.js'
import { canonical } from './canonical.ts'

// A few of Ajv's rules take time out of all proportion to the content: hours of it for a kilobyte, or for a megabyte. Here they are bounded.

/** How often a union may be looked at, whatever the size of the content. */
const least = 10_000

let left = 0

const exhausted = Symbol('exhausted')

/** In a schema that contains itself, each level of the content has a union try all of its branches again: twice the work for one level more. */
function step (): void {
  if (--left < 0) throw exhausted
}

/** What the work on the value gives; undefined where it takes more steps than a value of this size can need, `each` for each of its parts. */
export function affordable<Result> (work: (value: unknown) => Result, value: unknown, each: number): Result | undefined {
  return within(least, work, value) ?? within(each * size(value), work, value)
}

function within<Result> (most: number, work: (value: unknown) => Result, value: unknown): Result | undefined {
  left = most
  try {
    return work(value)
  } catch (thrown) {
    if (thrown !== exhausted) throw thrown
    return undefined
  }
}

function size (value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, inner) => sum + size(inner), 1)
}

/** The validator, with rules that take no longer than they should. */
export function bounded (ajv: Ajv2019): Ajv2019 {
  for (const union of [anyOf.default, oneOf.default]) {
    // Each of them has one keyword.
    ajv.removeKeyword(union.keyword as string).addKeyword(counted(union))
  }
  // Ajv compares each item with each other.
  ajv.removeKeyword('uniqueItems').addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (wanted: boolean, items: readonly unknown[]) => !wanted || new Set(items.map(canonical)).size === items.length
  })
  // The password of a URL is part of what stands for its user already: said twice, it is looked for at each place of both.
  const { source, flags } = ajv.formats['url'] as RegExp
  return ajv.addFormat('url', new RegExp(source.replace('(?::\\S*)?', ''), flags))
}

function counted (union: CodeKeywordDefinition): CodeKeywordDefinition {
  return {
    ...union,
    code (context: KeywordCxt) {
      context.gen.code(_`${context.gen.scopeValue('func', { key: step, ref: step })}()`)
      union.code(context)
    }
  }
}

import { _ } from 'ajv'
import type { Ajv2019, CodeKeywordDefinition, KeywordCxt } from 'ajv/dist/2019.js'
import { toCanonicalJson } from './canonical-json.ts'

// Some keywords of Ajv can take hours for a small content. Their work is limited here.

/** How many unions may be tried for any content, however small. */
const minSteps = 10_000

let remainingSteps = 0

const exhausted = Symbol('exhausted')

/** Called for each union. In a recursive schema, each level of the content doubles the work. */
function countStep (): void {
  if (--remainingSteps < 0) throw exhausted
}

/** Runs a validation. Returns undefined if it takes more steps than `stepsPerPart` for each part of the value. */
export function runLimited<Result> (
  validate: (value: unknown) => Result,
  value: unknown,
  stepsPerPart: number
): Result | undefined {
  return runWithSteps(minSteps, validate, value) ?? runWithSteps(stepsPerPart * countParts(value), validate, value)
}

function runWithSteps<Result> (
  steps: number,
  validate: (value: unknown) => Result,
  value: unknown
): Result | undefined {
  remainingSteps = steps
  try {
    return validate(value)
  } catch (thrown) {
    if (thrown !== exhausted) throw thrown
    return undefined
  }
}

function countParts (value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, inner) => sum + countParts(inner), 1)
}

/** Replaces the keywords and the format of a validator that can take too long. */
export function addWorkLimits (ajv: Ajv2019): Ajv2019 {
  for (const keyword of ['anyOf', 'oneOf']) {
    // Ajv has both, and defines them by code.
    const union = ajv.getKeyword(keyword) as CodeKeywordDefinition
    ajv.removeKeyword(keyword).addKeyword(countUses(union))
  }
  // The keyword of Ajv compares each item with every other one.
  ajv.removeKeyword('uniqueItems').addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (isRequired: boolean, items: readonly unknown[]) => {
      return !isRequired || new Set(items.map(toCanonicalJson)).size === items.length
    }
  })
  // The pattern for the user also matches a password, so the separate one for the password only causes backtracking.
  const { source, flags } = ajv.formats['url'] as RegExp
  return ajv.addFormat('url', new RegExp(source.replace('(?::\\S*)?', ''), flags))
}

function countUses (union: CodeKeywordDefinition): CodeKeywordDefinition {
  return {
    ...union,
    code (context: KeywordCxt) {
      const call = context.gen.scopeValue('func', { key: countStep, ref: countStep })
      context.gen.code(_`${call}()`)
      union.code(context)
    }
  }
}

import { _ } from 'ajv'
import type { Ajv2019, CodeKeywordDefinition, KeywordCxt } from 'ajv/dist/2019.js'
import { toCanonicalJson } from './canonical-json.ts'

// Some keywords of Ajv can take hours for a small content. Their work is limited here.

/** How many unions may be tried. */
interface StepLimit {
  /** For any content, however small. */
  readonly least: number
  /** For each part of the content: each value in it. */
  readonly perPart: number
}

let remainingSteps = 0

const exhausted = Symbol('exhausted')

/** Called for each union. In a recursive schema, each level of the content doubles the work. */
function countStep (): void {
  if (--remainingSteps < 0) throw exhausted
}

/** Runs a validation. Returns undefined if it takes more steps. */
export function runLimited<Result> (
  validate: (value: unknown) => Result,
  value: unknown,
  { least, perPart }: StepLimit
): Result | undefined {
  const result = runWithSteps(least, validate, value)
  if (result !== undefined) return result
  const steps = perPart * countParts(value)
  return steps > least ? runWithSteps(steps, validate, value) : undefined
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
    error: { message: 'must not have duplicate items' },
    validate: (isRequired: boolean, items: readonly unknown[]) => {
      return !isRequired || new Set(items.map(toCanonicalJson)).size === items.length
    }
  })
  return ajv.addFormat('url', url)
}

const word = String.raw`[a-z0-9\u{a1}-\u{ffff}]+`
const label = `(?:${word}-)*${word}`
const hostName = String.raw`${label}(?:\.${label})*\.[a-z\u{a1}-\u{ffff}]{2,}`

const publicAddress = [
  String.raw`(?!(?:10|127)(?:\.\d{1,3}){3})`,
  String.raw`(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})`,
  String.raw`(?!172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})`,
  String.raw`(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])`,
  String.raw`(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}`,
  String.raw`\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4])`
].join('')

/**
 * Matches what the expression of ajv-formats matches, except for whitespace in host names, but in linear time. That one
 * has separate patterns for a user and a password, which both match colons, and reads the path again for every "@".
 */
const url = new RegExp(
  String.raw`^(?=\S+$)(?:https?|ftp)://(?:.+@)?(?:${publicAddress}|${hostName})(?::\d{2,5})?(?:/|$)`,
  'iu'
)

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

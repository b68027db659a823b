// RFC 9110 §13: If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since.

import { parseDate } from './date.ts'
import { parseEntityTags, strongMatch, uncodedTag, weakMatch } from './entity-tag.ts'
import type { EntityTag } from './entity-tag.ts'

export interface PreconditionFields {
  readonly 'if-match'?: string | undefined
  readonly 'if-none-match'?: string | undefined
  readonly 'if-modified-since'?: string | undefined
  readonly 'if-unmodified-since'?: string | undefined
}

export interface Validators {
  /** Of the selected representation. */
  readonly tag: EntityTag
  /** Of the same version in other formats. */
  readonly others?: () => readonly EntityTag[]
  readonly modified: Date | undefined
}

export interface Question {
  /** GET or HEAD. */
  readonly safe: boolean
  readonly fields: PreconditionFields
  /** Undefined where the target does not exist. */
  readonly current: Validators | undefined
  /** Whether `W/` in front of a current tag is forgiven in If-Match; some intermediaries put it there. */
  readonly weak?: boolean
}

export type Outcome = 'proceed' | 'not modified' | 'failed'

/** §13.2.2 */
export function evaluate (question: Question): Outcome {
  if (!meetsState(question)) return 'failed'
  if (!isNew(question)) return question.safe ? 'not modified' : 'failed'
  return 'proceed'
}

/** Whether there is any precondition at all. */
export function conditional (fields: PreconditionFields): boolean {
  return fields['if-match'] !== undefined || fields['if-none-match'] !== undefined ||
    fields['if-modified-since'] !== undefined || fields['if-unmodified-since'] !== undefined
}

/** Whether there is a precondition for a resource without a modification date: the others are ignored then (§13.1.3, §13.1.4). */
export function namesTags (fields: PreconditionFields): boolean {
  return fields['if-match'] !== undefined || fields['if-none-match'] !== undefined
}

/** Whether a write is held to a state of its target. */
export function constrains (fields: PreconditionFields): boolean {
  return fields['if-match'] !== undefined || fields['if-none-match'] !== undefined ||
    dateOf(fields['if-unmodified-since']) !== undefined
}

// §13.1.1, and §13.1.4 only where there is no If-Match.
function meetsState ({ fields, current, weak = false }: Question): boolean {
  const field = fields['if-match']
  if (field !== undefined) return current !== undefined && names(field, current, weak ? weakMatch : strongMatch)
  const date = dateOf(fields['if-unmodified-since'])
  return date === undefined || current?.modified === undefined || seconds(current.modified) <= seconds(date)
}

// §13.1.2, and §13.1.3 only where there is no If-None-Match.
function isNew ({ safe, fields, current }: Question): boolean {
  if (current === undefined) return true
  const field = fields['if-none-match']
  if (field !== undefined) return !(safe ? namesOne(field, current.tag, weakMatch) : names(field, current, weakMatch))
  const date = safe ? dateOf(fields['if-modified-since']) : undefined
  return date === undefined || current.modified === undefined || seconds(current.modified) > seconds(date)
}

function names (field: string, { tag, others }: Validators, match: typeof strongMatch): boolean {
  return namesOne(field, tag, match) || others?.().some(other => namesOne(field, other, match)) === true
}

function namesOne (field: string, tag: EntityTag, match: typeof strongMatch): boolean {
  if (field === tag) return match(field, tag)
  const given = parseEntityTags(field)
  return given === '*' || given.some(one => match(uncodedTag(one), tag))
}

function dateOf (field: string | undefined): Date | undefined {
  return field === undefined ? undefined : parseDate(field)
}

// A field tells no fractions.
function seconds (date: Date): number {
  return Math.floor(date.getTime() / 1000)
}

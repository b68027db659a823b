// RFC 9110, section 13: If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since.

import { parseDate } from './date.ts'
import { isStrongMatch, isWeakMatch, parseEntityTags, removeAcceptedCoding, removeCoding } from './entity-tag.ts'
import type { EntityTag } from './entity-tag.ts'

export interface PreconditionFields {
  readonly 'if-match'?: string | undefined
  readonly 'if-none-match'?: string | undefined
  readonly 'if-modified-since'?: string | undefined
  readonly 'if-unmodified-since'?: string | undefined
  /** Selects the representation that If-None-Match of a read is compared with. */
  readonly 'accept-encoding'?: string | undefined
}

export interface Validators {
  /** The tag of the selected representation. */
  readonly tag: EntityTag
  /** Returns the tags of the same version in other formats. */
  readonly others?: () => readonly EntityTag[]
  readonly modified: Date | undefined
}

export interface ConditionalRequest {
  /** GET or HEAD. */
  readonly safe: boolean
  readonly fields: PreconditionFields
  /** Undefined if the target does not exist. */
  readonly current: Validators | undefined
}

export type Outcome = 'proceed' | 'not modified' | 'failed'

/** Evaluates the preconditions in the order of RFC 9110, section 13.2.2. */
export function evaluatePreconditions (request: ConditionalRequest): Outcome {
  if (!isUnchanged(request)) return 'failed'
  if (!isNew(request)) return request.safe ? 'not modified' : 'failed'
  return 'proceed'
}

/** Whether there is any precondition. */
export function isConditional (fields: PreconditionFields): boolean {
  return fields['if-match'] !== undefined ||
    fields['if-none-match'] !== undefined ||
    fields['if-modified-since'] !== undefined ||
    fields['if-unmodified-since'] !== undefined
}

/** Whether there is a precondition with entity tags. */
export function hasTagPrecondition (fields: PreconditionFields): boolean {
  return fields['if-match'] !== undefined || fields['if-none-match'] !== undefined
}

/**
 * Whether a write depends on the state of its target. Fields that are ignored do not count: malformed ones, and
 * If-Unmodified-Since beside If-Match or without a modification date (RFC 9110, section 13.1.4).
 */
export function isConditionalWrite (fields: PreconditionFields, hasDate: boolean): boolean {
  if (hasTags(fields['if-match']) || hasTags(fields['if-none-match'])) return true
  return hasDate &&
    fields['if-match'] === undefined &&
    parseOptionalDate(fields['if-unmodified-since']) !== undefined
}

function hasTags (field: string | undefined): boolean {
  return field !== undefined && parseEntityTags(field).length > 0
}

/**
 * RFC 9110, section 13.1.1; section 13.1.4 only without If-Match. Intermediaries that compress put `W/` in front of a
 * tag: what follows is the tag of one version all the same, so no update is lost if a write accepts it.
 */
function isUnchanged ({ safe, fields, current }: ConditionalRequest): boolean {
  const field = fields['if-match']
  if (field !== undefined) {
    return current !== undefined && isAnyTagListed(field, current, safe ? isStrongMatch : isWeakMatch)
  }
  const date = parseOptionalDate(fields['if-unmodified-since'])
  return date === undefined || current?.modified === undefined || isUnmodifiedSince(current.modified, date)
}

/** RFC 9110, section 13.1.2; section 13.1.3 only without If-None-Match. */
function isNew ({ safe, fields, current }: ConditionalRequest): boolean {
  if (current === undefined) return true
  const field = fields['if-none-match']
  if (field !== undefined) {
    return safe
      ? !isSelected(field, current.tag, fields['accept-encoding'])
      : !isAnyTagListed(field, current, isWeakMatch)
  }
  const date = safe ? parseOptionalDate(fields['if-modified-since']) : undefined
  return date === undefined || current.modified === undefined || !isUnmodifiedSince(current.modified, date)
}

function isAnyTagListed (field: string, { tag, others }: Validators, isMatch: typeof isStrongMatch): boolean {
  return isTagListed(field, tag, isMatch) || others?.().some((other) => isTagListed(field, other, isMatch)) === true
}

/** Whether the field lists the tag of the selected representation. */
function isSelected (field: string, tag: EntityTag, acceptEncoding: string | undefined): boolean {
  if (field === tag) return true
  const given = parseEntityTags(field)
  return given === '*' || given.some((one) => isWeakMatch(removeAcceptedCoding(one, acceptEncoding), tag))
}

function isTagListed (field: string, tag: EntityTag, isMatch: typeof isStrongMatch): boolean {
  if (field === tag) return isMatch(field, tag)
  const given = parseEntityTags(field)
  return given === '*' || given.some((one) => isMatch(removeCoding(one), tag))
}

function parseOptionalDate (field: string | undefined): Date | undefined {
  return field === undefined ? undefined : parseDate(field)
}

/**
 * In milliseconds: by how much the clocks of the processes and of the database may differ. RFC 7232, section 2.2.2, has
 * the same limit, for dates that are from different clocks.
 */
export const clockTolerance = 60_000

/**
 * Whether no later change can have the same date (RFC 9110, section 8.8.2.2): neither one in the same second, nor one
 * by a clock that is behind.
 */
export function isSettled (modified: Date): boolean {
  return Date.now() - modified.getTime() >= clockTolerance
}

/**
 * Whether there was certainly no change after the date: it is the Last-Modified that was sent, or so much later than
 * the last change that clocks do not matter. If in doubt, a write fails and a read returns the content.
 */
function isUnmodifiedSince (modified: Date, date: Date): boolean {
  const changed = toSeconds(modified)
  const given = toSeconds(date)
  return given === changed ? isSettled(modified) : given >= changed + clockTolerance / 1000
}

/** A date in a header has no fractions of a second. */
function toSeconds (date: Date): number {
  return Math.floor(date.getTime() / 1000)
}

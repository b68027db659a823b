import type { IncomingHttpHeaders } from 'node:http'
import type { Collection } from '../../engine/collection.ts'
import { digest } from '../../engine/receipts.ts'
import { canSee, getKeyOwner, getVisibility, readAnswer } from '../../engine/idempotency-key.ts'
import type { Visibility } from '../../engine/idempotency-key.ts'
import { Problem } from '../../http/problems.ts'
import { toCanonicalJson } from '../../schema/canonical-json.ts'
import type { Receipt } from '../../storage/contract.ts'
import { findCaller } from './prepare-part.ts'
import type { PreparedPart } from './prepare-part.ts'
import type { PartResult } from './write-part.ts'
import type { BatchResults } from './run-batch.ts'

// The answer of a batch with an Idempotency-Key, as it is stored and sent again.

/** What identifies a batch: the path, its headers and its bytes. */
interface KeyedBatch {
  readonly key: string
  /** That of the batch. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly content: Buffer
}

/** Returns the key of the receipt. The path distinguishes it from the keys of single requests. */
export function getReceiptKey (
  collection: Collection,
  parts: readonly PreparedPart[],
  { key, path, headers }: KeyedBatch
): string {
  const scopes = parts.map(({ access }) => access.scope).filter((scope) => scope !== undefined)
  const owner = getKeyOwner([collection, ...parts.map(({ target }) => target.collection)], {
    caller: findCaller(parts),
    headers,
    scope: scopes.length === 0
      ? undefined
      : { filter: distinct(scopes.map(({ filter }) => filter)), values: distinct(scopes.map(({ values }) => values)) }
  })
  return digest([owner, path, key])
}

/** The different values, in one order. Parts of one caller mostly have the same. */
function distinct (values: readonly unknown[]): readonly string[] {
  return [...new Set(values.map((value) => toCanonicalJson(value) ?? ''))].sort()
}

export function getFingerprint ({ path, content }: KeyedBatch): string {
  return digest(['POST', path, content])
}

/** In characters of the results. Longer results are stored without their contents. */
const maxLength = 1_048_576

interface StoredAnswer {
  readonly results: readonly PartResult[]
  /** What the caller could see, for each part. */
  readonly visibility: ReadonlyArray<Visibility | null>
}

export function formatAnswer (parts: readonly PreparedPart[], { results, texts }: BatchResults): string {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  const stored = results.map((result, index) => {
    return { id: parts[index]!.id, ...length > maxLength ? omitContent(result) : result }
  })
  const answer: StoredAnswer = { results: stored, visibility: parts.map((part) => getPartVisibility(part) ?? null) }
  return JSON.stringify(answer)
}

function getPartVisibility ({ access }: PreparedPart): Visibility | undefined {
  return getVisibility(access)
}

/** Returns the texts of the stored results. A caller who can no longer see as much gets a result without content. */
export function replayAnswer (
  earlier: Receipt,
  fingerprint: string,
  parts: readonly PreparedPart[]
): readonly string[] | Problem {
  const answer = readAnswer(earlier, fingerprint)
  if (answer instanceof Problem) return answer
  // `formatAnswer` has written it, in this or another process.
  const { results, visibility } = JSON.parse(answer) as StoredAnswer
  return results.map((result, index) => {
    const part = parts[index]!
    const isVisible = part.access.canRead &&
      !dependsOnOthers(part) &&
      canSee(getPartVisibility(part), visibility[index] ?? undefined)
    return JSON.stringify(isVisible ? result : omitContent(result))
  })
}

/**
 * Whether other rules than those of the collection decide what the caller sees. Whether it still sees the parent of a
 * nested item, related items or deleted ones is known only when these are read.
 */
function dependsOnOthers ({ path, target: { collection: { attached }, action } }: PreparedPart): boolean {
  const { parent, queryParameters } = attached
  return parent !== undefined || (action.safe && path.hasQuery && queryParameters.size > 0)
}

function omitContent (result: PartResult): PartResult {
  const { content, status, next, total, ...rest } = result
  return { ...rest, status: status === 200 ? 204 : status }
}

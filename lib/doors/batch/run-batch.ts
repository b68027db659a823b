import { tracePart } from '../http/trace-action.ts'
import type { Collection } from '../../engine/collection.ts'
import type { Progress } from '../../engine/progress.ts'
import { render } from '../../engine/rendering.ts'
import { openTransaction } from '../../engine/transaction.ts'
import type { OpenTransaction } from '../../engine/transaction.ts'
import { yieldTurn } from '../../engine/turns.ts'
import { ActionError, HookError } from '../../errors/failure.ts'
import { maxDepth } from '../../formats/i-json-reader.ts'
import { escapePointer } from '../../http/json-pointer.ts'
import { isDeeperThan } from '../../http/json-value.ts'
import { Problem, problem } from '../../http/problems.ts'
import { isRefusal, refusalToProblem } from '../../engine/refusal.ts'
import { validationProblem } from '../../schema/failures.ts'
import type { Context, Storage } from '../../storage/contract.ts'
import { isRead, toOperation } from './part-operation.ts'
import { resolveAddress } from './part-request.ts'
import type { Part } from './parts.ts'
import { findCaller } from './prepare-part.ts'
import type { PreparedPart, TargetedPart } from './prepare-part.ts'
import { findValue, insertValues } from './references.ts'
import type { Reference } from './references.ts'
import { writePart } from './write-part.ts'
import type { PartResult } from './write-part.ts'

/** Why a batch was refused, or has failed. `part` is undefined if no part is the cause. */
export class BatchFailure {
  readonly part: Part | TargetedPart | undefined
  /** What was thrown, or the problem of the part. */
  readonly error: unknown

  constructor (part: Part | TargetedPart | undefined, error: unknown) {
    this.part = part
    this.error = error
  }
}

/** What every part has led to, as JSON and as values. */
export interface BatchResults {
  readonly results: readonly PartResult[]
  /** The JSON text of each result. */
  readonly texts: readonly string[]
}

interface BatchRun {
  /** Whose storage begins the transaction. */
  readonly collection: Collection
  readonly context: Pick<Context, 'signal'>
  readonly progress: Progress | undefined
  /** Whether everything is rolled back at the end. */
  readonly isDryRun: boolean
  /** Called in the transaction, with what all parts have led to. A problem rolls it back. */
  readonly beforeCommit: ((results: BatchResults, storage: Storage<object>) => Promise<Problem | undefined>) | undefined
}

/** In characters of JSON. Otherwise a hundred lists of 4 MB each would be one response. */
const maxLength = 16_777_216

/** In characters of JSON, of all values that references insert. Otherwise few bytes could repeat a long text often. */
const maxInserted = 1_048_576

/**
 * Runs all parts in one transaction: all are committed, or none. The transaction may run again after a race. A problem
 * is about the whole batch, and comes from `beforeCommit`.
 */
export async function runBatch (
  parts: readonly PreparedPart[],
  { collection, context, progress, isDryRun, beforeCommit }: BatchRun
): Promise<BatchResults | BatchFailure | Problem> {
  // A shared lock, which a write would have to upgrade, could deadlock. So all reads lock like writes, or none does.
  const lock = !parts.every(isRead)
  let current: PreparedPart | undefined
  let refused: Problem | undefined

  async function runParts (storage: Storage<object>, transaction: OpenTransaction): Promise<BatchResults | Problem> {
    const results: PartResult[] = []
    const texts: string[] = []
    const earlier = { parts, results, inserted: 0 }
    let length = 0
    for (const part of parts) {
      current = part
      refused = undefined
      const result = await runPart(part, earlier, { transaction, lock })
      const text = result instanceof Problem ? '' : JSON.stringify({ id: part.id, ...result })
      length += text.length
      const failure = result instanceof Problem ? result : checkLength(length)
      // After a lost race, all parts run again, and something else may fail.
      refused = transaction.lostRace === undefined ? failure : undefined
      if (result instanceof Problem || failure !== undefined) return failure!
      results.push(result)
      texts.push(text)
      await yieldTurn(progress)
    }
    current = undefined
    return await beforeCommit?.({ results, texts }, storage) ?? { results, texts }
  }

  // All parts have the same caller.
  const initiator = findCaller(parts)
  const target = { collection, storage: collection.storage, progress, initiator, isRehearsal: isDryRun }
  try {
    const done = await openTransaction<BatchResults>(target, runParts, context)
    if (done instanceof Problem) return current === undefined ? done : new BatchFailure(current, done)
    // The database has refused the commit.
    return isRefusal(done) ? new BatchFailure(current, refusalToProblem(done, findHidden(parts))) : done
  } catch (thrown) {
    // The transaction reports the refusal of a part as an error of a call.
    return new BatchFailure(current, refused ?? toAppError(thrown))
  }
}

/** The properties that the caller does not see in one of the collections. */
function findHidden (parts: readonly PreparedPart[]): ReadonlySet<string> {
  return new Set(parts.flatMap(({ access: { view: { type: { hidden } } } }) => [...hidden ?? []]))
}

/** As the HTTP door throws them: errors of the app as they are, and all others without what is not for clients. */
function toAppError (thrown: unknown): unknown {
  if (thrown instanceof HookError) return thrown.cause
  return thrown instanceof Problem ? thrown : new ActionError(thrown)
}

/** The parts and their results so far. */
interface Earlier {
  readonly parts: readonly PreparedPart[]
  readonly results: readonly PartResult[]
  /** The length of what references have inserted so far. */
  inserted: number
}

async function runPart (
  part: PreparedPart,
  earlier: Earlier,
  joined: Parameters<typeof toOperation>[2]
): Promise<PartResult | Problem> {
  const { target: { collection, action }, own } = part
  const values = resolvePath(part, earlier)
  if (values instanceof Problem) return values
  if (values.length > 0) own.address = resolveAddress(part, part.target, values)
  const content = resolveContent(part, earlier)
  if (content instanceof Problem) return content
  const operation = toOperation(part, content.value, joined)
  if (operation instanceof Problem) return operation
  try {
    const traced = { collection: collection.name, action: action.name, requestId: own.request.id }
    return await tracePart(traced, async () => {
      const outcome = await operation.steps.run(operation)
      return outcome instanceof Problem ? outcome : writePart(part, render(outcome, operation))
    })
  } catch (thrown) {
    return toRefusal(thrown)
  }
}

/** Returns the problem that a function of the app has thrown to refuse the part. Throws every other error. */
function toRefusal (thrown: unknown): Problem {
  const error = thrown instanceof HookError ? thrown.cause : thrown
  if (error instanceof Problem) return error
  throw thrown
}

/** Returns the values of the references in the path. */
function resolvePath ({ path }: PreparedPart, earlier: Earlier): readonly string[] | Problem {
  const values: string[] = []
  for (const reference of path.references) {
    const found = findReferenced(reference, earlier)?.value
    const isSegment = (typeof found === 'string' && found !== '' && found.isWellFormed()) || typeof found === 'number'
    if (!isSegment) return unresolved('/path', reference, 'a text or a number')
    const excess = addInserted('/path', found, earlier)
    if (excess !== undefined) return excess
    values.push(String(found))
  }
  return values
}

/** Returns the content with the values of its references. */
function resolveContent (
  { content, references }: PreparedPart,
  earlier: Earlier
): { readonly value: unknown } | Problem {
  if (references.length === 0) return { value: content }
  const values: Array<{ target: readonly string[], value: unknown }> = []
  for (const { target, source } of references) {
    const found = findReferenced(source, earlier)
    if (found === undefined) return unresolved(toRefPointer(target), source, 'a value')
    const excess = addInserted(toRefPointer(target), found.value, earlier)
    if (excess !== undefined) return excess
    values.push({ target, value: found.value })
  }
  const filled = insertValues(content === undefined ? {} : content, values)
  if (typeof filled !== 'string') {
    if (!isDeeperThan(filled.value, maxDepth)) return filled
    return invalid('/refs', `makes the content deeper than ${maxDepth} levels`)
  }
  return invalid(`/refs/${escapePointer(filled)}`, 'is not a place in the content: what contains it does not exist')
}

function toRefPointer (target: readonly string[]): string {
  return `/refs/${escapePointer(target.map((name) => `/${escapePointer(name)}`).join(''))}`
}

/**
 * A reference sees what the caller sees: the result of the earlier part. A caller who may create an item but not read
 * it sees its id, in the location.
 */
function findReferenced ({ from, path }: Reference, { parts, results }: Earlier): ReturnType<typeof findValue> {
  const { content, location } = results[from]!
  if (content !== undefined || location === undefined) return findValue(content, path)
  const { id } = parts[from]!.target.collection
  const segment = location.slice(location.lastIndexOf('/') + 1)
  return findValue({ [id.property]: id.read(decodeURIComponent(segment)) }, path)
}

function addInserted (pointer: string, value: unknown, earlier: Earlier): Problem | undefined {
  earlier.inserted += JSON.stringify(value).length
  if (earlier.inserted <= maxInserted) return undefined
  return invalid(pointer, `makes the values of all references longer than ${maxInserted} characters`)
}

function unresolved (pointer: string, { text }: Reference, wanted: string): Problem {
  return invalid(pointer, `${text} is not ${wanted} in the result of the earlier part`)
}

function invalid (pointer: string, message: string): Problem {
  return validationProblem([{ pointer, message }])
}

function checkLength (length: number): Problem | undefined {
  if (length <= maxLength) return undefined
  return problem('invalid-query', {
    detail: `The results of the batch are longer than ${maxLength} characters. Request fewer items.`
  })
}

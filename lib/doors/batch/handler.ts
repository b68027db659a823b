import type { FastifyReply, FastifyRequest } from 'fastify'
import { isProtected } from '../../engine/access/caller-dependence.ts'
import type { Collection } from '../../engine/collection.ts'
import type { Progress } from '../../engine/progress.ts'
import { createReceiptRunner } from '../../engine/receipts.ts'
import { runWithTimeout } from '../../engine/time-limit.ts'
import { checkOutsideCall } from '../../engine/transaction.ts'
import { ActionError, errorToProblem, logFailure } from '../../errors/failure.ts'
import { keyInUse, readKey } from '../../engine/idempotency-key.ts'
import { parseIJson } from '../../formats/i-json.ts'
import { formatProblem, getDetail, Problem, problem } from '../../http/problems.ts'
import type { DescribedBatch } from '../../openapi/batch.ts'
import type { ServedCollection } from '../../engine/registry.ts'
import { parseContent } from '../http/content.ts'
import { badParameter, checkEncoding } from '../../query/check-query.ts'
import { normalizePath } from '../http/request.ts'
import { RequestContext } from '../http/request-context.ts'
import type { Headers, Response } from '../http/response.ts'
import { ok } from '../http/response.ts'
import type { Context } from '../../storage/contract.ts'
import { findReceiptKeeper } from './options.ts'
import type { BatchSettings } from './options.ts'
import { parseParts } from './parts.ts'
import type { Part } from './parts.ts'
import { preparePart } from './prepare-part.ts'
import type { PreparedPart, TargetedPart } from './prepare-part.ts'
import { formatAnswer, getFingerprint, getReceiptKey, replayAnswer } from './replay.ts'
import { BatchFailure, runBatch } from './run-batch.ts'
import { findTarget, isParameter, toServedPath } from './targets.ts'
import type { ServedPath } from './targets.ts'

// The door for batches: a request becomes several operations in one transaction, and their outcomes one response.

/** The results of all parts as JSON, in their order. */
interface Done {
  readonly texts: readonly string[]
  readonly isReplayed: boolean
}

interface LimitedRun {
  readonly context: Pick<Context, 'signal'>
  readonly progress: Progress
}

/** A batch whose parts are all authorized. */
interface PreparedBatch {
  readonly request: FastifyRequest
  readonly parts: readonly PreparedPart[]
  readonly isDryRun: boolean
  readonly key: string | undefined
}

/** Handles the requests to the path of a batch. */
export class BatchHandler {
  readonly #settings: BatchSettings
  readonly #runOnce: ReturnType<typeof createReceiptRunner>
  #paths: readonly ServedPath[] = []
  /** Whose storage stores the responses to batches with a key. */
  #keeper: Collection | undefined
  /** The parts of which the requests have failed with an error. */
  readonly #failed = new WeakMap<FastifyRequest, TargetedPart>()

  constructor (settings: BatchSettings) {
    this.#settings = settings
    this.#runOnce = createReceiptRunner(settings.receipts)
  }

  /** Called when the app has registered all collections. */
  open (served: readonly ServedCollection[]): void {
    this.#keeper = findReceiptKeeper(served)
    const countParameters = ({ segments }: ServedPath) => segments.filter(isParameter).length
    // A fixed segment precedes a parameter, as in the router of Fastify.
    this.#paths = served.map(toServedPath).sort((a, b) => countParameters(a) - countParameters(b))
  }

  async handle (request: FastifyRequest, reply: FastifyReply): Promise<Response | Problem> {
    const batch = await this.#prepare(request)
    if (batch instanceof Problem) return batch
    const { parts } = batch
    checkOutsideCall(this.#getOwner(parts))
    const context = new RequestContext(reply.raw, undefined)
    const done = await runWithTimeout(this.#settings.timeout, context, async (limited) => {
      const result = await this.#run(batch, limited)
      const hasFailed = result instanceof BatchFailure && !(result.error instanceof Problem)
      // What was aborted throws an error of its own.
      if (hasFailed && limited.progress.error !== undefined) throw result.error
      return result
    }).catch((thrown: unknown) => { throw thrown instanceof ActionError ? thrown : new ActionError(thrown) })
    context.end()
    if (done instanceof Problem) return done
    if (done instanceof BatchFailure) return this.#toProblem(request, done)
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (done.isReplayed) headers['idempotent-replayed'] = 'true'
    return ok(`[${done.texts.join()}]`, { ...headers, ...batch.isDryRun ? {} : getInvalidation(parts) })
  }

  /** What the OpenAPI description depends on. */
  describe (operationId: string): DescribedBatch {
    const { maximum, idempotency } = this.#settings
    const acceptsKeys = this.#keeper === undefined ? 'none' : 'optional'
    return {
      operationId,
      maximum,
      keys: idempotency?.required === true ? 'required' : acceptsKeys,
      isProtected: this.#paths.some(({ collection }) => isProtected(collection)),
      paths: this.#paths.map(({ segments }) => `/${segments.join('/')}`)
    }
  }

  /** Logs an error of a request, and adds the part that has failed to its problem. */
  handleError (request: FastifyRequest, error: unknown, known: Problem): Problem {
    const part = this.#failed.get(request)
    const { collection, action } = part?.target ?? {}
    const target = collection && action && { collection: collection.name, action: action.name }
    logFailure(request.log, error, known, target)
    return addPart(known, part)
  }

  /** Parses the batch, and authorizes the caller for each part. */
  async #prepare (request: FastifyRequest): Promise<PreparedBatch | Problem> {
    const isDryRun = readDryRun(request)
    if (isDryRun instanceof Problem) return isDryRun
    const content = parseContent({ content: request.body as Buffer | undefined }, parseIJson, {})
    if (content instanceof Problem) return content
    const given = parseParts(content.value, this.#settings.maximum)
    if (given instanceof Problem) return given
    const targets = []
    for (const part of given) {
      const target = findTarget(this.#paths, part)
      if (target instanceof Problem) return this.#toProblem(request, new BatchFailure(part, target))
      targets.push(target)
    }
    const parts: PreparedPart[] = []
    for (const part of given) {
      try {
        parts.push(await preparePart(request, part, targets[part.index]!))
      } catch (error) {
        return this.#toProblem(request, new BatchFailure({ ...part, target: targets[part.index]! }, error))
      }
    }
    const key = isDryRun ? undefined : this.#readKey(request, parts)
    return key instanceof Problem ? key : { request, parts, isDryRun, key }
  }

  /** Returns the idempotency key. If a collection requires one, so do batches with a part for it. */
  #readKey (request: FastifyRequest, parts: readonly PreparedPart[]): string | Problem | undefined {
    const { headers } = request
    if (this.#keeper === undefined && headers['idempotency-key'] !== undefined) {
      return problem('bad-request', {
        detail: 'Idempotency-Key is not supported for batches of this service. Repeat the request without it.'
      })
    }
    for (const { target: { collection, action } } of parts) {
      for (const hook of collection.attached.hooks.onHeaders) {
        const refusal = hook(headers, action)
        if (refusal !== undefined) return refusal
      }
    }
    return readKey(headers, { required: this.#settings.idempotency?.required === true })
  }

  /** The collection whose storage begins the transaction. */
  #getOwner ([first]: readonly PreparedPart[]): Collection {
    return this.#keeper ?? first!.target.collection
  }

  async #run (batch: PreparedBatch, { context, progress }: LimitedRun): Promise<Done | BatchFailure | Problem> {
    const { request, parts, isDryRun, key } = batch
    const collection = this.#getOwner(parts)
    const run = { collection, context, progress, isDryRun, beforeCommit: undefined }
    if (key === undefined) return toDone(await runBatch(parts, run))
    const path = normalizePath(request.url)
    const keyed = { key, path, headers: request.headers, content: request.body as Buffer }
    const fingerprint = getFingerprint(keyed)
    const receipt = { key: getReceiptKey(collection, parts, keyed), fingerprint, context, log: request.log }
    return this.#runOnce<Done | BatchFailure | Problem>(collection, receipt, {
      replay: (earlier) => {
        const texts = replayAnswer(earlier, fingerprint, parts)
        return texts instanceof Problem ? texts : { texts, isReplayed: true }
      },
      run: async (keep) => toDone(await runBatch(parts, {
        ...run,
        beforeCommit: async (results, storage) => {
          return await keep(formatAnswer(parts, results), storage) ? undefined : keyInUse()
        }
      })),
      isDone: (result) => !(result instanceof Problem || result instanceof BatchFailure)
    })
  }

  /** 401, 403, 429 and 5xx are sent as they are; any other problem of a part is that of the batch. */
  #toProblem (request: FastifyRequest, { part, error }: BatchFailure): Problem {
    const refused = error instanceof Problem ? error : errorToProblem(error, 500, false)
    if (refused.status >= 500 && !(error instanceof Problem)) {
      if (part !== undefined && 'target' in part) this.#failed.set(request, part)
      // Handled like any other error of the app, so that its onError hooks see it.
      throw error
    }
    if (passedThrough.has(refused.status) || refused.status >= 500) return addPart(refused, part)
    const base = this.#paths[0]!.collection.app.service.problems
    const inner: unknown = JSON.parse(formatProblem(refused, base, undefined))
    const name = part === undefined ? 'The batch' : `Part ${part.index}`
    const failed = problem('batch-failed', {
      detail: `${name} was refused: ${getDetail(refused)} Nothing was written.`,
      properties: { problem: inner }
    })
    return addPart(failed, part)
  }
}

const passedThrough: ReadonlySet<number> = new Set([401, 403, 429])

function addPart (known: Problem, part: Part | undefined): Problem {
  if (part === undefined) return known
  const { status, name, properties, ...details } = known
  return new Problem(status, name, {
    ...details.detail !== undefined && { detail: details.detail },
    ...details.headers && { headers: details.headers },
    properties: { part: { index: part.index, id: part.id }, ...properties }
  })
}

function toDone (result: Awaited<ReturnType<typeof runBatch>>): Done | BatchFailure | Problem {
  if (result instanceof Problem || result instanceof BatchFailure) return result
  return { texts: result.texts, isReplayed: false }
}

/** A parameter, since a header could be ignored on the way, and the batch would be committed then. */
function readDryRun (request: FastifyRequest): boolean | Problem {
  const mark = request.url.indexOf('?')
  const invalid = mark < 0 ? undefined : checkEncoding(request.url.slice(mark + 1))
  if (invalid !== undefined) return invalid
  const { dryRun, ...others } = request.query as Readonly<Record<string, unknown>>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    return problem('invalid-query', {
      detail: `The query parameter ${JSON.stringify(unknown)} is unknown. Available: dryRun.`,
      properties: { parameter: unknown }
    })
  }
  if (dryRun === undefined || dryRun === 'false') return false
  return dryRun === 'true' || badParameter('dryRun', 'true or false')
}

/** RFC 9875: the groups of all collections that the batch has written to. */
function getInvalidation (parts: readonly PreparedPart[]): Headers {
  const written = parts.filter(({ target: { action } }) => !action.safe)
  const groups = new Map<string, Set<string>>()
  for (const { target: { collection } } of written) {
    for (const [name, value] of Object.entries(collection.http.groups?.write ?? {})) {
      groups.set(name, (groups.get(name) ?? new Set()).add(value))
    }
  }
  return Object.fromEntries([...groups].map(([name, values]) => [name, [...values].join(', ')]))
}

import { createHash, randomBytes } from 'node:crypto'
import type { ActionName } from './action-names.ts'
import type { Action, Result } from './action.ts'
import { withoutContent } from './answer.ts'
import type { Answer } from './answer.ts'
import { getKeyOwner } from './caller.ts'
import type { Collection } from './definition.ts'
import { idempotencyKey } from './http/idempotency-key.ts'
import { Problem, problem } from './http/problems.ts'
import type { Idempotency } from './idempotency.ts'
import { parentPath } from './request.ts'
import type { Request } from './request.ts'
import { canonical } from './schema/canonical.ts'
import type { Receipt, Receipts } from './storage/contract.ts'

/** An action of which a repeated request gets the answer of the first one (draft-ietf-httpapi-idempotency-key-header-07). */
export function repeatable (action: Action, name: ActionName, idempotency: Idempotency): Action {
  const longest = name === 'update' ? longestUpdated : longestCreated
  return async function (collection, request) {
    const key = keyOf(collection, request, idempotency)
    if (key instanceof Problem) return key
    if (key === undefined) return action(collection, request)
    const receipts = collection.storage.receipts!
    const now = Date.now()
    const claim: Receipt = { key, fingerprint: fingerprintOf(request), token: randomBytes(15).toString('base64url'), expires: now + idempotency.lease, answer: undefined }
    const release = () => receipts.release(claim, patient).catch((err: unknown) => request.original.log.error({ err }, 'an idempotency key could not be released'))
    // Of a claim that was given up it is not known whether it was made.
    const standing = await receipts.claim(claim, now, request.context).catch(async (thrown: unknown) => {
      await release()
      throw thrown
    })
    if (standing !== undefined) return replayed(standing, claim, { collection, request })
    sweep(collection, request, now)
    const keep: Request['keep'] = async (storage, answer) => {
      const shown: Kept = { ...bounded(answer, longest), sight: sightOf(collection, request) }
      const kept = await storage.receipts!.keep({ ...claim, expires: Date.now() + idempotency.expiry, answer: JSON.stringify(shown) }, request.context)
      // It took so long that another request has claimed the key.
      return kept ? undefined : running()
    }
    try {
      const result = await action(collection, { ...request, keep })
      if (result instanceof Problem) await release()
      return result
    } catch (thrown) {
      // Nothing was written, or else the answer is kept and stays.
      await release()
      throw thrown
    }
  }
}

/** For what has to be done though the client has gone. */
const patient = { signal: new AbortController().signal }

/** By the caller, the path of the collection and what the field says; undefined where the field is missing. */
function keyOf (collection: Collection, request: Request, { required }: Idempotency): string | Problem | undefined {
  const field = request.fields['idempotency-key']
  if (field === undefined) {
    if (!required) return undefined
    return problem('idempotency-key-missing', { detail: 'Repeat the request with the field Idempotency-Key and a new random key, such as a UUID in quotes. Send the same key when you retry it.' })
  }
  const key = idempotencyKey(String(field))
  if (key === undefined) return problem('idempotency-key-malformed', { detail: 'Idempotency-Key is one string of 1 to 255 characters, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".' })
  return digest([getKeyOwner(collection, request), request.segment === '' ? request.path : parentPath(request), key])
}

/** What is asked: the method, the target and the content, to the byte. */
function fingerprintOf ({ path, content, original }: Request): string {
  return digest([original.method, path, content ?? ''])
}

function digest (parts: ReadonlyArray<string | Buffer>): string {
  const hash = createHash('sha256')
  // Each with its length ahead, so that no two lists are one text.
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('base64url')
}

/** What the caller of the first request could see: an answer is shown again only to who can see as much. */
interface Sight {
  readonly hidden: readonly string[]
  /** A digest of the filter of its scope. */
  readonly scope: string
}

interface Kept extends Answer {
  readonly sight: Sight | undefined
}

/** Undefined for who sees everything. */
function sightOf ({ hidden }: Collection, { scope }: Request): Sight | undefined {
  if (hidden === undefined && scope === undefined) return undefined
  return { hidden: [...hidden ?? []], scope: digest([canonical(scope?.filter) ?? '']) }
}

function seesAll (now: Sight | undefined, then: Sight | undefined): boolean {
  return now === undefined || (now.scope === then?.scope && now.hidden.every(name => then.hidden.includes(name)))
}

function replayed ({ fingerprint, answer }: Receipt, claim: Receipt, { collection, request }: { collection: Collection, request: Request }): Result {
  if (fingerprint !== claim.fingerprint) return problem('idempotency-key-used', { detail: 'Another request had this Idempotency-Key. Send a new key with a new request.' })
  if (answer === undefined) return running()
  // Written below, by this or another process.
  const { sight, ...first } = JSON.parse(answer) as Kept
  const sees = seesAll(sightOf(collection, request), sight)
  // Who may not read any more prefers it minimal as well.
  const shown: Answer = request.preferences.return === 'minimal' ? { ...withoutContent(first), applied: { return: 'minimal' } } : sees ? first : withoutContent(first)
  return { ...shown, fields: { ...shown.fields, 'idempotent-replayed': 'true' } }
}

function running (): Problem {
  return problem('idempotency-key-running', { detail: 'The first request with this Idempotency-Key is not done. Repeat the request later.', fields: { 'retry-after': '1' } })
}

/** In bytes, of the content that is kept. What a POST answers is about as long as what it has stored. */
const longestCreated = 1_048_576

/** A PATCH of a few bytes answers the whole item, so that many of them would keep much more than was sent. */
const longestUpdated = 16_384

/** An answer whose content is too long is kept without it; so is a page, which is made around the answer later. */
function bounded (answer: Answer, longest: number): Answer {
  const length = Buffer.byteLength(answer.content ?? '')
  return length > 0 && length <= longest ? answer : withoutContent(answer)
}

const minute = 60_000
const swept = new WeakMap<Receipts, number>()

/** Now and then, beside the request. What expired lately may be the claim of a slow request, and is left a while. */
function sweep ({ storage }: Collection, { original: { log } }: Request, now: number): void {
  const receipts = storage.receipts!
  if (now - (swept.get(receipts) ?? 0) < minute) return
  swept.set(receipts, now)
  receipts.sweep(now - 60 * minute, patient).catch((err: unknown) => log.error({ err }, 'expired idempotency keys could not be removed'))
}

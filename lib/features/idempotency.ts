import type { Formatted } from '../formats/format.ts'
import { createHash, randomBytes } from 'node:crypto'
import { getCallerId } from '../access/caller.ts'
import type { Action, Result } from '../action.ts'
import { withoutContent } from '../response/response.ts'
import type { Response } from '../response/response.ts'
import type { Collection } from '../collection.ts'
import { parseIdempotencyKey } from '../http/idempotency-key.ts'
import { Problem, problem } from '../http/problems.ts'
import { describeHeaderParameters } from '../openapi/headers.ts'
import { getCollectionPath } from '../request/request.ts'
import type { Request } from '../request/request.ts'
import { toCanonicalJson } from '../schema/canonical-json.ts'
import type { Receipt, Receipts } from '../storage/contract.ts'
import type { Feature, Host } from './feature.ts'

type RepeatableAction = 'create' | 'update'

export interface IdempotencyOptions {
  /** The actions that accept the header `Idempotency-Key`. Both by default. */
  actions?: readonly RepeatableAction[]
  /** Whether requests without a key are refused with 400. False by default. */
  required?: boolean
  /** How long a response is kept, in seconds. A day by default. */
  expiry?: number
  /** How long a request that does not end, because its process has crashed, holds its key, in seconds. 30 by default. */
  lease?: number
}

interface Settings {
  readonly required: boolean
  /** In milliseconds. */
  readonly expiry: number
  /** In milliseconds. */
  readonly lease: number
}

/**
 * Makes POST and PATCH safe to repeat: a request with the `Idempotency-Key` of an earlier one gets the response of that one
 * (draft-ietf-httpapi-idempotency-key-header-07).
 *
 * @example
 * define({ name: 'orders', schema: Order, storage: postgres(pool) })
 *   .with(idempotency({ required: true, expiry: 3600 }))
 */
export function idempotency (options: IdempotencyOptions = {}): Feature<object> {
  return {
    name: 'idempotency',
    inherited: true,
    setup (host) {
      host.checkOptions('idempotency', options, ['actions', 'required', 'expiry', 'lease'])
      const { actions = ['create', 'update'], required = false, expiry = 86_400, lease = 30 } = options
      host.require('receipts', 'idempotency stores responses')
      const unknown = actions.find((action) => action !== 'create' && action !== 'update')
      if (unknown !== undefined) host.fail(`idempotency: actions contains ${JSON.stringify(unknown)}. It can contain "create" and "update"; the other actions are idempotent already.`)
      if (!(lease > 0 && lease <= expiry && expiry < Infinity)) host.fail(`idempotency: expiry is ${expiry} and lease is ${lease}. Both are seconds, and 0 < lease <= expiry.`)
      checkKeyOwners(host, actions)
      const settings = { required, expiry: Math.ceil(expiry * 1000), lease: Math.ceil(lease * 1000) }
      const accepts = (name: string): boolean => (actions as readonly string[]).includes(name)
      host.wrapAction('replay', (next, { name }) => accepts(name) ? withReplay(next, settings, name === 'update' ? longestUpdated : longestCreated) : next)
      host.describe((operation, { name }, { components }) => {
        if (accepts(name)) operation.parameters.push(...describeHeaderParameters(components, ['Idempotency-Key'], required ? ['Idempotency-Key'] : []))
      })
    }
  }
}

const identifyingHooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

/** A key belongs to a caller, and only the app knows how its own hooks and functions identify callers. */
function checkKeyOwners (host: Host, actions: readonly RepeatableAction[]): void {
  const { access, routes } = host.collection
  if (access?.authenticate !== undefined || access?.scope !== undefined) return
  for (const action of actions) {
    const hook = identifyingHooks.find((hook) => [routes.all, routes[action]].some((options) => options?.[hook] !== undefined))
    const found = hook !== undefined ? `routes has the hook ${hook}` : typeof access?.allow[action] === 'function' ? 'access.allow is a function' : undefined
    if (found === undefined) continue
    host.fail(`idempotency has to know whose a key is, but ${found} for ${action} and nothing names the caller. Add access: { authenticate: ({ request }) => ... }, which runs after the hooks of routes and may return what they have found out; or, if all callers are one, access: { authenticate: () => undefined, allow: 'public' }.`)
  }
}

function withReplay (next: Action, settings: Settings, longest: number): Action {
  return async (collection, request) => {
    const key = getKey(collection, request, settings)
    if (key instanceof Problem) return key
    if (key === undefined) return next(collection, request)
    const receipts = collection.storage.receipts!
    const now = Date.now()
    const claim: Receipt = { key, fingerprint: getFingerprint(request), token: randomBytes(15).toString('base64url'), expires: now + settings.lease, answer: undefined }
    const release = () => receipts.release(claim, patient).catch((err: unknown) => request.original.log.error({ err }, 'an idempotency key could not be released'))
    const earlier = await receipts.claim(claim, now, request.context).catch(async (thrown: unknown) => {
      // The claim may have been stored before it failed.
      await release()
      throw thrown
    })
    if (earlier !== undefined) return replay(earlier, claim, { collection, request })
    sweep(receipts, request, now)
    const beforeCommit: Request['beforeCommit'] = async (storage, answer) => {
      const limited = limitContent(answer, longest)
      const stored: StoredAnswer = { ...limited, ...toStoredContent(limited.content), sight: getSight(collection, request) }
      const kept = await storage.receipts!.keep({ ...claim, expires: Date.now() + settings.expiry, answer: JSON.stringify(stored) }, request.context)
      // The request took so long that another one has claimed the key.
      return kept ? undefined : stillRunning()
    }
    try {
      const result = await next(collection, { ...request, beforeCommit })
      if (result instanceof Problem) await release()
      return result
    } catch (thrown) {
      // If the response is stored already, this leaves it.
      await release()
      throw thrown
    }
  }
}

/** For what must be done although the client has disconnected. */
const patient = { signal: new AbortController().signal }

/** A digest of the caller, the path of the collection and the header; undefined if the header is missing. */
function getKey (collection: Collection, request: Request, { required }: Settings): string | Problem | undefined {
  const header = request.fields['idempotency-key']
  if (header === undefined) {
    if (!required) return undefined
    return problem('idempotency-key-missing', { detail: 'Repeat the request with the header Idempotency-Key and a new random key, such as a UUID in quotes. Send the same key when you retry it.' })
  }
  const key = parseIdempotencyKey(String(header))
  if (key === undefined) return problem('idempotency-key-malformed', { detail: 'Idempotency-Key is one string of 1 to 255 characters, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".' })
  return digest([getKeyOwner(collection, request), request.segment === '' ? request.path : getCollectionPath(request), key])
}

/** Headers that most services identify callers by. `access.vary` adds others. */
const credentialHeaders: readonly string[] = ['authorization', 'cookie', 'x-api-key']

/**
 * Whose key it is. A named caller is known by its id and by the values that its scope sets: credentials are
 * renewed, and a filter may depend on the time. Any other is known by its credentials and its whole scope.
 */
function getKeyOwner ({ access }: Collection, { caller, scope, fields }: Request): string {
  if (caller !== undefined) return toCanonicalJson({ caller: getCallerId(caller), values: scope?.values })!
  const names = [...credentialHeaders, ...access?.vary.map((name) => name.toLowerCase()) ?? []]
  return toCanonicalJson({ credentials: Object.fromEntries(names.map((name) => [name, fields[name]])), scope })!
}

/** Of the method, the target and the bytes of the content. */
function getFingerprint ({ path, content, original }: Request): string {
  return digest([original.method, path, content ?? ''])
}

function digest (parts: ReadonlyArray<string | Buffer>): string {
  const hash = createHash('sha256')
  // Each with its length first, so that no two lists give the same text.
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('base64url')
}

/** What the caller of the first request could see. The response is repeated only for callers who can see as much. */
interface Sight {
  readonly hidden: readonly string[]
  /** A digest of the filter of its scope. */
  readonly scope: string
}

interface StoredAnswer extends Omit<Response, 'content'> {
  readonly sight: Sight | undefined
  readonly content: string | undefined
  /** Whether the content is in base64, because its format is binary. */
  readonly isBinary?: boolean
}

function toStoredContent (content: Formatted | undefined): Pick<StoredAnswer, 'content' | 'isBinary'> {
  return Buffer.isBuffer(content) ? { content: content.toString('base64'), isBinary: true } : { content }
}

/** Undefined for a caller who sees everything. */
function getSight ({ hidden }: Collection, { scope }: Request): Sight | undefined {
  if (hidden === undefined && scope === undefined) return undefined
  return { hidden: [...hidden ?? []], scope: digest([toCanonicalJson(scope?.filter) ?? '']) }
}

function canSee (now: Sight | undefined, then: Sight | undefined): boolean {
  return now === undefined || (now.scope === then?.scope && now.hidden.every((name) => then.hidden.includes(name)))
}

function replay ({ fingerprint, answer }: Receipt, claim: Receipt, { collection, request }: { collection: Collection, request: Request }): Result {
  if (fingerprint !== claim.fingerprint) return problem('idempotency-key-reused', { detail: 'Another request had this Idempotency-Key. Send a new key with a new request.' })
  if (answer === undefined) return stillRunning()
  // Stored above, by this or another process.
  const { sight, isBinary, content, ...rest } = JSON.parse(answer) as StoredAnswer
  const first: Response = { ...rest, content: isBinary === true && content !== undefined ? Buffer.from(content, 'base64') : content }
  const isVisible = canSee(getSight(collection, request), sight)
  // A caller who can no longer read prefers a minimal response as well.
  const shown: Response = request.preferences.return === 'minimal' ? { ...withoutContent(first), applied: { return: 'minimal' } } : isVisible ? first : withoutContent(first)
  return { ...shown, fields: { ...shown.fields, 'idempotent-replayed': 'true' } }
}

function stillRunning (): Problem {
  return problem('idempotency-key-in-use', { detail: 'The first request with this Idempotency-Key is still running. Repeat the request later.', fields: { 'retry-after': '1' } })
}

/** In bytes, of the content that is stored. The response to a POST is about as long as the item that it stored. */
const longestCreated = 1_048_576

/** A PATCH of a few bytes returns the whole item, so that many of them would store much more than was sent. */
const longestUpdated = 16_384

/** Content that is too long is not stored. A page has none yet: it is rendered around the response later. */
function limitContent (answer: Response, longest: number): Response {
  const length = Buffer.byteLength(answer.content ?? '')
  return length > 0 && length <= longest ? answer : withoutContent(answer)
}

const minute = 60_000
const sweptAt = new WeakMap<Receipts, number>()

/** Removes expired receipts now and then, beside the request. Those that expired lately may belong to a slow request. */
function sweep (receipts: Receipts, { original: { log } }: Request, now: number): void {
  if (now - (sweptAt.get(receipts) ?? 0) < minute) return
  sweptAt.set(receipts, now)
  receipts.sweep(now - 60 * minute, patient).catch((err: unknown) => log.error({ err }, 'expired idempotency keys could not be removed'))
}

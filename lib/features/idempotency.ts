import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { getCallerId } from '../access/caller.ts'
import type { Rule } from '../access/rules.ts'
import { withoutContent } from '../response/response.ts'
import type { Response } from '../response/response.ts'
import type { Collection } from '../collection.ts'
import { changeOperation } from '../engine/operation.ts'
import type { Operation, Outcome, Run } from '../engine/operation.ts'
import { hasNoEffect, isUnreachable } from '../failure.ts'
import { parseIdempotencyKey } from '../http/idempotency-key.ts'
import { Problem, problem } from '../http/problems.ts'
import { describeHeaderParameters } from '../openapi/headers.ts'
import { getCollectionPath, getTargetPath } from '../request/request.ts'
import type { Request } from '../request/request.ts'
import { toCanonicalJson } from '../schema/canonical-json.ts'
import type { RouteOptions } from '../options.ts'
import type { Context, Receipt, Receipts } from '../storage/contract.ts'
import type { ActionInfo, Feature, Host } from './feature.ts'

type RepeatableAction = 'create' | 'update'

/** The options of `idempotency()`. */
export interface IdempotencyOptions {
  /**
   * The actions that accept the header `Idempotency-Key`. Custom actions that are not idempotent always accept it.
   *
   * @default ['create', 'update']
   * @example
   * idempotency({ actions: ['create'] })
   */
  actions?: readonly RepeatableAction[]
  /**
   * Whether requests without a key are refused with 400.
   *
   * @default false
   * @example
   * idempotency({ required: true })
   */
  required?: boolean
  /**
   * How long a response is kept, in seconds.
   *
   * @default 86400, which is a day
   * @example
   * idempotency({ expiry: 3600 })
   */
  expiry?: number
  /**
   * How long a request whose process has crashed holds its key, in seconds.
   *
   * @default 30
   * @example
   * idempotency({ lease: 60 })
   */
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
 * Makes POST and PATCH safe to repeat: a request with the `Idempotency-Key` of an earlier request gets its response
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
      const { routes } = host.collection
      host.require('receipts', 'idempotency stores responses')
      const unknown = actions.find((action) => action !== 'create' && action !== 'update')
      if (unknown !== undefined) {
        host.fail(`idempotency: actions contains ${JSON.stringify(unknown)}. ` +
          'It can contain "create" and "update"; the other actions are idempotent already.')
      }
      if (!(lease > 0 && lease <= expiry && expiry < Infinity)) {
        host.fail(`idempotency: expiry is ${expiry} and lease is ${lease}. ` +
          'Both must be seconds, with 0 < lease <= expiry.')
      }
      for (const action of actions) {
        checkKeyOwner(host, action, { allow: host.collection.access?.allow[action], route: routes[action] })
      }
      const settings = { required, expiry: Math.ceil(expiry * 1000), lease: Math.ceil(lease * 1000) }
      const acceptsKey = ({ name, custom }: ActionInfo): boolean => {
        return custom === undefined ? (actions as readonly string[]).includes(name) : !custom.idempotent
      }
      // It surrounds the preconditions: a repeated PATCH with If-Match is replayed, not refused with 412.
      host.wrap('authorized', (next, info) => {
        if (!acceptsKey(info)) return next
        if (info.custom !== undefined) checkKeyOwner(host, info.name, info.custom)
        return withReplay(next, settings, info.name === 'create' ? maxCreatedLength : maxUpdatedLength)
      }, { doors: ['http'], outermost: true })
      host.addHook('onHeaders', (headers, info) => {
        const key = acceptsKey(info) ? readKey(headers, settings) : undefined
        return key instanceof Problem ? key : undefined
      })
      host.describe((operation, info, { components }) => {
        if (!acceptsKey(info)) return
        const headers = ['Idempotency-Key'] as const
        operation.parameters.push(...describeHeaderParameters(components, headers, required ? headers : []))
      })
    }
  }
}

const identifyingHooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

/** A key belongs to a caller. Without `access.authenticate`, the library cannot know who that is. */
function checkKeyOwner (
  host: Host,
  action: string,
  { allow, route }: { allow: Rule | undefined, route: RouteOptions | undefined }
): void {
  const { access, routes: { all } } = host.collection
  if (access?.authenticate !== undefined || access?.scope !== undefined) return
  const hook = identifyingHooks.find((hook) => [all, route].some((options) => options?.[hook] !== undefined))
  const hasRule = typeof allow === 'function'
  if (hook === undefined && !hasRule) return
  const found = hook === undefined ? 'access.allow is a function' : `routes has the hook ${hook}`
  host.fail(`idempotency keeps the keys of callers apart, but ${found} for ${action} ` +
    'and access.authenticate is missing. Add access: { authenticate: ({ request }) => ... }, ' +
    'which runs after the hooks of routes and can return the caller that they have identified; ' +
    'or, if all callers share their keys, access: { authenticate: () => undefined, allow: \'public\' }.')
}

function withReplay (next: Run, settings: Settings, maxLength: number): Run {
  const clock = new ReceiptClock()
  return async (collection, operation) => {
    const { context, log } = operation
    // Only HTTP requests have this layer.
    const exchange = operation.exchange!
    const { request } = exchange
    const key = getKey(collection, request, settings)
    if (key instanceof Problem) return key
    if (key === undefined) return next(collection, operation)
    const receipts = collection.storage.receipts!
    const now = await clock.read(receipts, context)
    const claim: Receipt = {
      key,
      fingerprint: getFingerprint(request),
      token: randomBytes(15).toString('base64url'),
      expires: now + settings.lease,
      answer: undefined
    }
    const release = (failure?: unknown) => receipts.release(claim, limitTime(releaseTimeout)).catch((err: unknown) => {
      // The failure of the request is logged as well. Another line about the same storage would not add anything.
      if (isUnreachable(failure)) return
      log.error({ collection: collection.name, err }, 'an idempotency key could not be released')
    })
    const earlier = await receipts.claim(claim, now, context).catch(async (thrown: unknown) => {
      // The claim may have been stored before it failed.
      if (!hasNoEffect(thrown)) await release(thrown)
      throw thrown
    })
    if (earlier !== undefined) return replay(earlier, claim, request)
    sweep(collection, operation, now)
    const beforeCommit: Operation['beforeCommit'] = async (outcome, storage) => {
      const { content, ...rest } = limitContent(exchange.render(outcome), maxLength)
      const stored: StoredResponse = { ...rest, ...encodeContent(content), visibility: getVisibility(request) }
      const receipt = { ...claim, expires: clock.now() + settings.expiry, answer: JSON.stringify(stored) }
      const isKept = await storage.receipts!.keep(receipt, context)
      // If not, the request took so long that another one has claimed the key.
      return isKept ? undefined : keyInUse()
    }
    try {
      const outcome = await next(collection, changeOperation(operation, { beforeCommit }))
      if (outcome instanceof Problem || outcome.kind === 'moved') await release()
      return outcome
    } catch (thrown) {
      // If the response is stored already, this leaves it.
      await release(thrown)
      throw thrown
    }
  }
}

/** In milliseconds. Otherwise the key is free when its lease ends. */
const releaseTimeout = 2000

/** In milliseconds. What remains is removed later. */
const sweepTimeout = 10_000

/**
 * The context of calls that run even if the client has disconnected. They have a limit of their own: one that waits for
 * a lock, or for a server that does not respond, holds a connection that other requests need.
 */
function limitTime (milliseconds: number): Pick<Context, 'signal'> {
  return { signal: AbortSignal.timeout(milliseconds) }
}

/** A digest of the caller, the path of the collection and the header; undefined if the header is missing. */
function getKey (collection: Collection, request: Request, settings: Settings): string | Problem | undefined {
  const key = readKey(request.headers, settings)
  if (typeof key !== 'string') return key
  const path = request.segment === '' ? request.path : getCollectionPath(request)
  return digest([getKeyOwner(collection, request), path, key])
}

function readKey (headers: IncomingHttpHeaders, { required }: Settings): string | Problem | undefined {
  const header = headers['idempotency-key']
  if (header === undefined) {
    if (!required) return undefined
    return problem('idempotency-key-missing', {
      detail: 'Repeat the request with the header Idempotency-Key and a new random key, such as a UUID in quotes. ' +
        'Send the same key when you retry it.'
    })
  }
  return parseIdempotencyKey(String(header)) ?? problem('idempotency-key-malformed', {
    detail: 'Idempotency-Key is one string of 1 to 255 characters, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".'
  })
}

/** Headers by which most services identify callers. `access.vary` adds others. */
const credentialHeaders: readonly string[] = ['authorization', 'cookie', 'x-api-key']

/**
 * A named caller is identified by its id and by the values that its scope sets: credentials are renewed, and a filter
 * may depend on the time. Any other caller is identified by its credentials and its whole scope.
 */
function getKeyOwner ({ access }: Collection, { caller, scope, headers }: Request): string {
  if (caller !== undefined) return toCanonicalJson({ caller: getCallerId(caller), values: scope?.values })!
  const names = [...credentialHeaders, ...access?.vary.map((name) => name.toLowerCase()) ?? []]
  return toCanonicalJson({ credentials: Object.fromEntries(names.map((name) => [name, headers[name]])), scope })!
}

/** A digest of the method, the target and the bytes of the content. */
function getFingerprint (request: Request): string {
  const { path, content, original } = request
  return digest([original.method, getTargetPath(request, path), content ?? ''])
}

function digest (parts: ReadonlyArray<string | Buffer>): string {
  const hash = createHash('sha256')
  // Each part is preceded by its length, so that no two lists have the same text.
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('base64url')
}

/** What the caller of the first request could see. The content is sent again only to callers who can see as much. */
interface Visibility {
  readonly hidden: readonly string[]
  /** A digest of the filter of its scope. */
  readonly scope: string
}

/** The content of a receipt. Its names are those in the databases of apps. */
interface StoredResponse extends Omit<Response, 'content'> {
  readonly visibility: Visibility | undefined
  readonly content?: string | undefined
  /** Whether the content is in base64, because its format is binary. */
  readonly isBinary?: boolean
}

function encodeContent (content: Response['content']): Pick<StoredResponse, 'content' | 'isBinary'> {
  return Buffer.isBuffer(content) ? { content: content.toString('base64'), isBinary: true } : { content }
}

function decodeContent ({ content, isBinary }: StoredResponse): Response['content'] {
  return isBinary === true && content !== undefined ? Buffer.from(content, 'base64') : content
}

/** Undefined for a caller who sees everything. */
function getVisibility ({ view: { type: { hidden } }, scope }: Request): Visibility | undefined {
  if (hidden === undefined && scope === undefined) return undefined
  return { hidden: [...hidden ?? []], scope: digest([toCanonicalJson(scope?.filter) ?? '']) }
}

function canSee (now: Visibility | undefined, then: Visibility | undefined): boolean {
  if (now === undefined) return true
  return now.scope === then?.scope && now.hidden.every((name) => then.hidden.includes(name))
}

function replay ({ fingerprint, answer }: Receipt, claim: Receipt, request: Request): Outcome | Problem {
  if (fingerprint !== claim.fingerprint) {
    return problem('idempotency-key-reused', {
      detail: 'Another request had this Idempotency-Key. Send a new key with a new request.'
    })
  }
  if (answer === undefined) return keyInUse()
  // `withReplay` has stored it, in this or another process.
  const stored = JSON.parse(answer) as StoredResponse
  const { status, headers, applied, visibility } = stored
  const first: Response = { status, headers, applied, content: decodeContent(stored) }
  const response = limitToCaller(first, canSee(getVisibility(request), visibility), request)
  const marked = { ...response.headers, 'idempotent-replayed': 'true' }
  return { kind: 'replayed', response: { ...response, headers: marked } }
}

/** A caller who can no longer read gets a minimal response, as its preferences say then. */
function limitToCaller (response: Response, isVisible: boolean, { preferences }: Request): Response {
  if (preferences.return === 'minimal') return { ...withoutContent(response), applied: { return: 'minimal' } }
  return isVisible ? response : withoutContent(response)
}

function keyInUse (): Problem {
  return problem('idempotency-key-in-use', {
    detail: 'The first request with this Idempotency-Key is still running. Repeat the request later.',
    headers: { 'retry-after': '1' }
  })
}

/** In bytes, of the content that is stored. The response to a POST is about as long as the item that it has stored. */
const maxCreatedLength = 1_048_576

/** A PATCH of a few bytes returns the whole item, so many of them would store much more than clients have sent. */
const maxUpdatedLength = 16_384

/** Removes content that is too long. An HTML page has none yet: it is rendered around the response later. */
function limitContent (response: Response, maxLength: number): Response {
  const length = Buffer.byteLength(response.content ?? '')
  return length > 0 && length <= maxLength ? response : withoutContent(response)
}

const minute = 60_000

/**
 * The clock by which receipts expire: that of the database, if it has one. By the clock of a process that is ahead, the
 * receipts of all others would have expired, and their requests could be done again. It is read once a minute.
 */
class ReceiptClock {
  #time = 0
  #readAt = -Infinity

  async read (receipts: Receipts, context: Operation['context']): Promise<number> {
    if (receipts.now !== undefined && performance.now() - this.#readAt > minute) {
      const time = await receipts.now(context)
      this.#readAt = performance.now()
      this.#time = time
    }
    return this.now()
  }

  /** Does not depend on the clock of the process, which may be set meanwhile. */
  now (): number {
    return this.#time === 0 ? Date.now() : this.#time + Math.floor(performance.now() - this.#readAt)
  }
}

const sweptAt = new WeakMap<Receipts, number>()

/** Removes expired receipts once a minute, without delaying the request. Recent ones may belong to a slow request. */
function sweep ({ name, storage }: Collection, { log }: Operation, now: number): void {
  const receipts = storage.receipts!
  if (now - (sweptAt.get(receipts) ?? 0) < minute) return
  sweptAt.set(receipts, now)
  receipts.sweep(now - 60 * minute, limitTime(sweepTimeout)).catch((err: unknown) => {
    log.error({ collection: name, err }, 'expired idempotency keys could not be removed')
  })
}

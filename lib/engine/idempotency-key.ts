import type { IncomingHttpHeaders } from 'node:http'
import { getCallerId } from './access/caller.ts'
import type { Collection } from './collection.ts'
import { digest } from './receipts.ts'
import { parseIdempotencyKey } from '../http/idempotency-key.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Access } from './access/access.ts'
import { toCanonicalJson } from '../schema/canonical-json.ts'
import type { Receipt } from '../storage/contract.ts'

// Idempotency-Key, for single requests and for batches: whose key it is, and who may see the answer again.

/** Returns the key of a request; undefined if it has none, and needs none. */
export function readKey (
  headers: IncomingHttpHeaders,
  { required }: { readonly required: boolean }
): string | Problem | undefined {
  const header = headers['idempotency-key']
  if (header === undefined) return required ? keyMissing() : undefined
  return parseIdempotencyKey(String(header)) ?? problem('idempotency-key-malformed', {
    detail: 'Idempotency-Key is one string of 1 to 255 characters, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".'
  })
}

export function keyMissing (): Problem {
  return problem('idempotency-key-missing', {
    detail: 'Repeat the request with the header Idempotency-Key and a new random key, such as a UUID in quotes. ' +
      'Send the same key when you retry it.'
  })
}

/** Headers by which most services identify callers. `access.vary` adds others. */
const credentialHeaders: readonly string[] = ['authorization', 'cookie', 'x-api-key']

interface KeyOwner {
  readonly isApp?: boolean
  readonly caller: Access['caller']
  readonly headers: IncomingHttpHeaders
  readonly scope: { readonly filter: unknown, readonly values: unknown } | undefined
}

/**
 * A named caller is identified by its id and by the values that its scope sets: credentials are renewed, and a filter
 * may depend on the time. Any other caller is identified by its credentials and its whole scope. The collection
 * that a nested one is in may identify it by other headers.
 */
export function getKeyOwner (
  collections: ReadonlyArray<Pick<Collection, 'access' | 'attached'>>,
  { isApp = false, caller, scope, headers }: KeyOwner
): string {
  if (isApp) return 'app'
  if (caller !== undefined) return toCanonicalJson({ caller: getCallerId(caller), values: scope?.values })!
  const varied = collections
    .flatMap(({ access, attached: { parent } }) => [access, parent?.collection.access])
    .flatMap((rules) => rules?.vary ?? [])
  const names = [...credentialHeaders, ...varied.map((name) => name.toLowerCase())]
  return toCanonicalJson({ credentials: Object.fromEntries(names.map((name) => [name, headers[name]])), scope })!
}

/** What the caller of the first request could see. The content is sent again only to callers who can see as much. */
export interface Visibility {
  readonly hidden: readonly string[]
  /** A digest of the filter of its scope. */
  readonly scope: string
}

type Viewer = Pick<Access, 'view' | 'scope'>

/** Undefined for a caller who sees everything. */
export function getVisibility ({ view: { type: { hidden } }, scope }: Viewer): Visibility | undefined {
  if (hidden === undefined && scope === undefined) return undefined
  return { hidden: [...hidden ?? []], scope: digest([toCanonicalJson(scope?.filter) ?? '']) }
}

export function canSee (now: Visibility | undefined, then: Visibility | undefined): boolean {
  if (now === undefined) return true
  return now.scope === then?.scope && now.hidden.every((name) => then.hidden.includes(name))
}

/** Returns the stored answer of the same request, or why there is none. */
export function readAnswer ({ fingerprint, answer }: Receipt, expected: string): string | Problem {
  if (fingerprint !== expected) {
    return problem('idempotency-key-reused', {
      detail: 'Another request had this Idempotency-Key. Send a new key with a new request.'
    })
  }
  return answer ?? keyInUse()
}

export function keyInUse (): Problem {
  return problem('idempotency-key-in-use', {
    detail: 'The first request with this Idempotency-Key is still running. Repeat the request later.',
    headers: { 'retry-after': '1' }
  })
}

import type { Rule } from '../engine/access/rules.ts'
import { changeOperation } from '../engine/operation.ts'
import type { Operation, Outcome, Run } from '../engine/operation.ts'
import { render } from '../engine/rendering.ts'
import { createReceiptRunner, digest, readReceiptTimes } from '../engine/receipts.ts'
import type { ReceiptSettings } from '../engine/receipts.ts'
import { restoreRendering, storeRendering } from '../engine/stored-rendering.ts'
import { formatValue } from '../errors/format-value.ts'
import { Problem } from '../http/problems.ts'
import { describeHeaderParameters } from '../openapi/headers.ts'
import { getRouteOptions } from '../engine/route-options.ts'
import type { RouteOptions } from '../engine/definition.ts'
import type { Receipt } from '../storage/contract.ts'
import type { ActionInfo } from '../engine/action-info.ts'
import type { Feature, Host } from '../engine/feature.ts'
import { getKeyOwner, keyInUse, keyMissing, readAnswer, readKey } from '../engine/idempotency-key.ts'

const repeatableActions = ['create', 'update'] as const

type RepeatableAction = (typeof repeatableActions)[number]

/** The options of `idempotency()`. */
export interface IdempotencyOptions {
  /**
   * The actions that accept the header `Idempotency-Key`. Custom actions that are not idempotent always accept it, and
   * so does a DELETE of all items that match a filter (`bulk`).
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
   * How long a response is kept, in milliseconds.
   *
   * @default 86_400_000, which is a day
   * @example
   * idempotency({ expiry: 3_600_000 })
   */
  expiry?: number
  /**
   * How long a request whose process has crashed holds its key, in milliseconds. At least 100.
   *
   * @default 30_000
   * @example
   * idempotency({ lease: 60_000 })
   */
  lease?: number
}

interface Settings extends ReceiptSettings {
  readonly required: boolean
}

/**
 * Makes POST and PATCH safe to repeat: a request with the `Idempotency-Key` of an earlier request gets its response,
 * and a call from code with the `idempotencyKey` of an earlier call its result
 * (draft-ietf-httpapi-idempotency-key-header-07).
 *
 * @example
 * define({ name: 'orders', schema: Order, storage: postgres(pool) })
 *   .with(idempotency({ required: true, expiry: 3_600_000 }))
 */
export function idempotency (options: IdempotencyOptions = {}): Feature<object> {
  return {
    name: 'idempotency',
    keepsEntries: true,
    setup (host) {
      host.checkOptions('idempotency', options, ['actions', 'required', 'expiry', 'lease'])
      const { actions = ['create', 'update'], required = false } = options
      const { http: { routes } } = host.collection
      host.require('receipts', 'idempotency stores responses')
      if (!isArray(actions)) {
        host.fail(`idempotency: actions is ${formatValue(actions)}. Make it an array of "create" and "update".`)
      }
      const unknown = actions.find((action) => action !== 'create' && action !== 'update')
      if (unknown !== undefined) {
        host.fail(`idempotency: actions contains ${formatValue(unknown)}. ` +
          'It can contain "create" and "update"; the other actions are idempotent already.')
      }
      if (typeof required !== 'boolean') {
        host.fail(`idempotency: required is ${formatValue(required)}. Make it true or false.`)
      }
      const times = readReceiptTimes(options, (message) => host.fail(`idempotency: ${message}`))
      for (const action of actions) {
        checkKeyOwner(host, action, { allow: host.collection.access?.allow[action], route: routes[action] })
      }
      const settings = { required, ...times }
      const excluded = repeatableActions.filter((action) => !actions.includes(action))
      const acceptsKey = ({ name, idempotent }: ActionInfo): boolean => {
        return !idempotent && !(excluded as readonly string[]).includes(name)
      }
      // It surrounds the preconditions: a repeated PATCH with If-Match is replayed, not refused with 412.
      host.wrap('authorized', (next, info) => {
        if (!acceptsKey(info)) return next
        const { name, custom } = info
        const { allow = host.collection.access?.allow[name] } = custom ?? {}
        checkKeyOwner(host, name, { allow, route: getRouteOptions(host.collection, info) })
        const isLong = name === 'create' || info.bulk !== undefined
        return withReplay(next, settings, isLong ? maxCreatedLength : maxUpdatedLength)
      }, { doors: ['http', 'code', 'agents'], outermost: true })
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

/** Unlike Array.isArray, it leaves the type as it is. */
function isArray (value: unknown): boolean {
  return Array.isArray(value)
}

const identifyingHooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

/** A key belongs to a caller. Without `access.authenticate`, the library cannot know who that is. */
function checkKeyOwner (
  host: Host,
  action: string,
  { allow, route }: { allow: Rule | undefined, route: RouteOptions | undefined }
): void {
  const { access, http: { routes: { all } } } = host.collection
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

function withReplay (next: Run, { required, ...times }: Settings, maxLength: number): Run {
  const runOnce = createReceiptRunner(times)
  return async (operation) => {
    const { collection, context, door, input, isApp, caller, scope, log } = operation
    const keyed = input.getKeyed()
    if (keyed instanceof Problem) return keyed
    // Code decides itself whether it needs a key.
    if (keyed === undefined) return required && door === 'http' ? keyMissing() : next(operation)
    const { place, fingerprint, headers } = keyed
    const key = digest([getKeyOwner([collection], { isApp, caller, scope, headers }), place, keyed.key])
    return runOnce<Outcome | Problem>(collection, { key, fingerprint, context, log }, {
      replay: (earlier) => replay(earlier, fingerprint, operation),
      run: (keep) => {
        const beforeCommit: Operation['beforeCommit'] = async (outcome, storage) => {
          // What code gets is not limited: the app repeats its calls itself.
          const limit = operation.door === 'code' ? Infinity : maxLength
          const answer = storeRendering(render(outcome, operation), operation, limit)
          return await keep(answer, storage) ? undefined : keyInUse()
        }
        return next(changeOperation(operation, { beforeCommit }))
      },
      isDone: (outcome) => !(outcome instanceof Problem) && outcome.kind !== 'moved'
    })
  }
}

function replay (earlier: Receipt, fingerprint: string, operation: Operation): Outcome | Problem {
  const answer = readAnswer(earlier, fingerprint)
  return answer instanceof Problem ? answer : { kind: 'replayed', rendering: restoreRendering(answer, operation) }
}

/**
 * In bytes, of what is kept. The response to a POST is about as long as the item that it has stored, and that to a
 * write of several items has at most their ids.
 */
const maxCreatedLength = 1_048_576

/** A PATCH of a few bytes returns the whole item, so many of them would store much more than clients have sent. */
const maxUpdatedLength = 16_384

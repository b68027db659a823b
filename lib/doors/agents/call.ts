import type { FastifyRequest } from 'fastify'
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Access } from '../../engine/access/access.ts'
import { authorize, Refused } from '../../engine/access/authorize.ts'
import { fromRequest } from '../../engine/access/evaluate.ts'
import { findPlace } from '../../engine/access/parent.ts'
import { getScope, Operation } from '../../engine/operation.ts'
import type { Keyed } from '../../engine/operation.ts'
import { getGrammar } from '../../engine/grammar.ts'
import { applyPatch } from '../../engine/patch.ts'
import { digest } from '../../engine/receipts.ts'
import { render } from '../../engine/rendering.ts'
import { checkOutsideCall } from '../../engine/transaction.ts'
import { ActionError, errorToProblem, HookError, logFailure } from '../../errors/failure.ts'
import { Problem, problem } from '../../http/problems.ts'
import { parseQueryObject } from '../../query/parse.ts'
import { toCanonicalJson } from '../../schema/canonical-json.ts'
import type { Entry } from '../../storage/contract.ts'
import { readArguments } from './arguments.ts'
import type { CallArguments } from './arguments.ts'
import type { AgentAction } from './actions.ts'
import { toErrorResult, toResult } from './results.ts'

// The door for agents: a call of a tool becomes an operation, and its outcome a result.

/** What is known of the request of a call. */
export interface AgentRequest {
  readonly request: FastifyRequest
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** How many items a page has by default. */
  readonly limit: number
}

/** An action whose caller is authorized. */
export interface OpenAction extends AgentAction {
  readonly access: Access
}

/** Opens an action for the caller of a request. Undefined if the caller may not call it: then it does not exist. */
export async function openAction (action: AgentAction, request: FastifyRequest): Promise<OpenAction | undefined> {
  const access = await authorize(action.collection, action.action, fromRequest(request))
  if (!(access instanceof Refused)) return { ...action, access }
  const { status } = errorToProblem(access.reason, 500, false)
  if (status === 401 || status === 403 || status === 404) return undefined
  throw access.reason
}

/** Calls an action. Whatever fails becomes a result, which says what the agent can do next. */
export async function callAction (
  called: AgentAction,
  given: Readonly<Record<string, unknown>>,
  source: AgentRequest
): Promise<CallToolResult | undefined> {
  const { collection, action, needs } = called
  try {
    const open = await openAction(called, source.request)
    if (open === undefined) return undefined
    const read = readArguments(needs, given)
    return read instanceof Problem ? toErrorResult(read) : await run(open, read, source)
  } catch (thrown) {
    const error = thrown instanceof HookError ? thrown.cause : thrown
    const isOfApp = thrown instanceof HookError || thrown instanceof Problem
    const failure = isOfApp ? error : new ActionError(error)
    const known = errorToProblem(failure, 500, false)
    logFailure(source.request.log, failure, known, { collection: collection.name, action: action.name })
    return toErrorResult(known)
  }
}

async function run (open: OpenAction, given: CallArguments, source: AgentRequest): Promise<CallToolResult> {
  const { collection, action, bound, access } = open
  const { request, signal, limit } = source
  const { view } = access
  checkOutsideCall(collection)
  const place = findPlace(collection.attached.parent, given)
  if (place instanceof Problem) return toErrorResult(place)
  const content = action.takes === 'representation' ? view.type.checkHidden(given.content) : undefined
  const parsed = content ?? { value: given.content }
  let stale: Entry<object> | undefined

  /** The item must be the one that the agent has read. */
  function checkTag (entry: Entry<object> | undefined): Problem | undefined {
    if (entry !== undefined && view.type.getVersion(entry) === given.tag) return undefined
    stale = entry
    return problem('precondition-failed')
  }

  const operation = new Operation(bound, access, {
    input: {
      getKeyed: () => given.key === undefined ? undefined : toKeyed(open, given.key, { given, request }),
      defaults: {
        ...action.query === 'list' && { limit: Math.min(limit, view.lists.limit.maximum) },
        // The tag of an item depends on all properties that its caller sees.
        needsWholeItems: view.type.hidden !== undefined
      },
      parseQuery: () => parseQueryObject(getGrammar(collection), given.query),
      parseContent: () => parsed,
      applyPatch: (item) => parsed instanceof Problem ? parsed : applyPatch(view.type, item, parsed.value)
    },
    segment: given.id ?? '',
    place,
    context: { signal, scope: getScope(access, place) },
    log: request.log,
    request,
    check: given.tag === undefined ? undefined : checkTag
  })
  const outcome = await bound.steps.run(operation)
  if (!(outcome instanceof Problem)) return toResult(render(outcome, operation))
  const current = stale && render({ kind: 'entry', entry: stale, created: false }, operation)
  return toErrorResult(outcome, { at: getContentPointer(open), current })
}

/** The key belongs to the caller, by the feature, and to the tool. */
function toKeyed (
  { collection, action }: AgentAction,
  key: string,
  { given, request }: { readonly given: CallArguments, readonly request: FastifyRequest }
): Keyed {
  return {
    key,
    place: `tool ${action.key} of ${collection.name}`,
    fingerprint: digest([toCanonicalJson(given.requested)!]),
    headers: request.headers
  }
}

/** The argument that the pointers of a problem are about. */
function getContentPointer ({ needs }: AgentAction): string {
  const name = (['item', 'patch', 'input', 'query'] as const).find((name) => needs.has(name))
  return name === undefined ? '' : `/${name}`
}

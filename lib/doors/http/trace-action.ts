import { tracingChannel } from 'node:diagnostics_channel'
import type { AnyActionName } from '../../engine/action.ts'
import { ActionError, errorToProblem, HookError, ProblemError } from '../../errors/failure.ts'
import { Problem } from '../../http/problems.ts'
import type { HttpRequest } from './request.ts'
import type { Result } from './response.ts'

/** Handles a request of a collection. */
export type Action = (request: HttpRequest) => Promise<Result>

/** What subscribers of the tracing channel `fastify-collections:action` get. */
export interface ActionEvent {
  /** The name of the collection. */
  readonly collection: string
  /** One of the six, or the name of a custom action. */
  readonly action: AnyActionName
  /** The id that Fastify gave the request; undefined for a call from code. */
  readonly requestId: string | undefined
  /** The status of the response, at the end. A call from code has one only if it is refused. */
  status: number | undefined
  /** The code of the problem, if the response is one. */
  code: string | undefined
  /** What was thrown, if the action failed. */
  readonly error?: unknown
}

const channel = tracingChannel<unknown, ActionEvent>('fastify-collections:action')

/** Publishes the start and the end of an action. Without subscribers, it only calls the action. */
export function withTrace ({ collection, action: name }: TracedAction, action: Action): Action {
  return (request) => {
    if (!channel.hasSubscribers) return action(request)
    return traceResult(createEvent(collection, name, request.original.id), () => action(request))
  }
}

interface TracedAction {
  /** The name of the collection. */
  readonly collection: string
  readonly action: AnyActionName
}

interface TracedPart extends TracedAction {
  readonly requestId: string
}

/** The same for a part of a batch. */
export function tracePart<Done extends { readonly status: number }> (
  { collection, action, requestId }: TracedPart,
  run: () => Promise<Done | Problem>
): Promise<Done | Problem> {
  return channel.hasSubscribers ? traceResult(createEvent(collection, action, requestId), run) : run()
}

function traceResult<Done extends { readonly status: number }> (
  event: ActionEvent,
  run: () => Promise<Done>
): Promise<Done> {
  return trace(event, async () => {
    try {
      return endEvent(event, await run())
    } catch (thrown) {
      const isKnown = thrown instanceof HookError || thrown instanceof Problem
      endEvent(event, errorToProblem(isKnown ? getError(thrown) : new ActionError(thrown), 500, false))
      throw thrown
    }
  })
}

/** The same for a call from code. */
export function withCallTrace<Parameters extends unknown[], Item> (
  host: { findCollection (): { readonly name: string } },
  name: AnyActionName,
  call: (...parameters: Parameters) => Promise<Item>
): (...parameters: Parameters) => Promise<Item> {
  return (...parameters) => {
    return channel.hasSubscribers
      ? traceCall(createEvent(host.findCollection().name, name, undefined), () => call(...parameters))
      : call(...parameters)
  }
}

function traceCall<Item> (event: ActionEvent, call: () => Promise<Item>): Promise<Item> {
  return trace(event, async () => {
    try {
      return await call()
    } catch (error) {
      if (error instanceof ProblemError) endEvent(event, error.problem)
      throw error
    }
  })
}

/** What is returned is no part of the event, nor is a problem that is thrown: it is no failure. */
async function trace<Value> (event: ActionEvent, run: () => Promise<Value>): Promise<Value> {
  let outcome: { readonly value: Value } | { readonly thrown: unknown }
  await channel.tracePromise(async () => {
    try {
      outcome = { value: await run() }
    } catch (thrown) {
      outcome = { thrown }
      const error = getError(thrown)
      if (!(error instanceof Problem || error instanceof ProblemError)) throw error
    }
  }, event).catch(() => {})
  if ('thrown' in outcome!) throw outcome.thrown
  return outcome!.value
}

function getError (thrown: unknown): unknown {
  return thrown instanceof HookError ? thrown.cause : thrown
}

function createEvent (collection: string, action: AnyActionName, requestId: string | undefined): ActionEvent {
  return { collection, action, requestId, status: undefined, code: undefined }
}

function endEvent<Done extends { readonly status: number }> (event: ActionEvent, result: Done): Done {
  event.status = result.status
  if (result instanceof Problem) event.code = result.name
  return result
}

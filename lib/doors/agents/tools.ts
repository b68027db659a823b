import type { FastifyRequest } from 'fastify'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { BadMcp } from '../../errors/errors.ts'
import { problem } from '../../http/problems.ts'
import type { AgentAction } from './actions.ts'
import { callAction, openAction } from './call.ts'
import type { AgentRequest, OpenAction } from './call.ts'
import { describeAction } from './describe.ts'
import type { DescribedAction } from './describe.ts'
import { toErrorResult } from './results.ts'

// The tools of a server. Each caller has those that it may call.

export interface AgentTool extends DescribedAction {
  readonly name: string
}

export interface Tools {
  /** Returns the tools that the caller of a request may call. */
  list (request: FastifyRequest): Promise<AgentTool[]>
  /** Calls a tool. One that the caller may not call does not exist. */
  call (name: string, given: Readonly<Record<string, unknown>>, source: AgentRequest): Promise<CallToolResult>
}

/** Returns those of the actions that the caller may call. One whose rule fails is left out. */
export async function openActions (actions: readonly AgentAction[], request: FastifyRequest): Promise<OpenAction[]> {
  const opened = await Promise.all(actions.map(async (agentAction) => {
    return openAction(agentAction, request).catch((err: unknown) => {
      const { collection, action } = agentAction
      request.log.error({ collection: collection.name, action: action.name, err }, 'a rule failed')
      return undefined
    })
  }))
  return opened.filter((action) => action !== undefined)
}

/** Whether the caller may call any of the actions. */
export async function canCallAny (actions: readonly AgentAction[], request: FastifyRequest): Promise<boolean> {
  for (const action of actions) {
    if (await openAction(action, request) !== undefined) return true
  }
  return false
}

/** In characters, of a name that a result repeats. */
const maxNameLength = 100

/** The same, whether there is no such tool or the caller may not call it. */
export function refuseUnknown (kind: string, name: unknown, hint: string): CallToolResult {
  const detail = `There is no ${kind} ${JSON.stringify(String(name).slice(0, maxNameLength))} for you. ${hint}`
  return toErrorResult(problem('not-found', { detail }))
}

export const toolHint = 'tools/list has those that you can call.'

/** What hosts and models accept as the name of a tool. */
const toolNamePattern = /^[\w-]{1,64}$/

/** Creates a tool for each action of each collection: `orders_create`. */
export function createEachTools (actions: readonly AgentAction[]): Tools {
  const byName = new Map<string, AgentAction>()
  for (const each of actions) {
    const name = getToolName(each)
    if (!toolNamePattern.test(name) || byName.has(name)) {
      const reason = byName.has(name)
        ? `two actions would both be the tool ${name}`
        : `${name} is no name of a tool, which has up to 64 letters, digits, _ and -`
      throw new BadMcp(`${reason}. Rename the collection or the action, or set tools: 'shared'.`)
    }
    byName.set(name, each)
  }
  return {
    async list (request) {
      const open = await openActions(actions, request)
      return open.map((each) => ({ name: getToolName(each), ...describeAction(each) }))
    },
    async call (name, given, source) {
      const called = byName.get(name)
      const result = called && await callAction(called, given, source)
      return result ?? refuseUnknown('tool', name, toolHint)
    }
  }
}

function getToolName ({ collection, action }: AgentAction): string {
  return `${collection.name}_${action.key}`
}

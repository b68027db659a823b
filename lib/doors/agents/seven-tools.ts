import type { FastifyRequest } from 'fastify'
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/server'
import type { JsonSchema } from '../../storage/contract.ts'
import type { AgentAction, ArgumentName, Needs } from './actions.ts'
import { agentArguments } from './arguments.ts'
import { callAction } from './call.ts'
import type { OpenAction } from './call.ts'
import { describeAction, getHints, readHints } from './describe.ts'
import { createResult } from './results.ts'
import { openActions, refuseUnknown, toolHint } from './tools.ts'
import type { AgentTool, Tools } from './tools.ts'

// Seven tools for all collections. They do not grow with the collections: `describe` returns the schemas of one.

const descriptions: Readonly<Record<string, string>> = {
  list: 'List items of a collection.',
  read: 'Read an item.',
  create: 'Create an item.',
  update: 'Change an item.',
  remove: 'Delete an item.',
  run: 'Run another action of a collection. "describe" says which there are, and which arguments they take.'
}

/** Returns the tool that an action is called with. */
function getSharedName ({ action: { key } }: AgentAction): string {
  return Object.hasOwn(descriptions, key) ? key : 'run'
}

/** Creates the tools that all collections share. */
export function createSevenTools (actions: readonly AgentAction[]): Tools {
  async function describe (name: unknown, request: FastifyRequest): Promise<CallToolResult> {
    const open = await openActions(actions, request)
    if (name === undefined) return createResult({ collections: summarize(open) })
    const own = open.filter(({ collection }) => collection.name === name)
    if (own.length === 0) return refuseUnknown('collection', name, collectionHint)
    const described = own.map((each) => [each.action.key, toCallable(each)])
    return createResult({ collection: name, actions: Object.fromEntries(described) as Record<string, object> })
  }

  return {
    async list (request) {
      const open = await openActions(actions, request)
      if (open.length === 0) return []
      const tools = Object.keys(descriptions).map((name) => {
        return toTool(name, open.filter((each) => getSharedName(each) === name))
      })
      return [toDescribeTool(open), ...tools.filter((tool) => tool !== undefined)]
    },
    async call (name, { collection, ...given }, source) {
      if (name === 'describe') return describe(collection, source.request)
      if (!Object.hasOwn(descriptions, name)) return refuseUnknown('tool', name, toolHint)
      const { action, ...others } = given
      const [key, own] = name === 'run' ? [action, others] : [name, given]
      const called = actions.find((each) => {
        return each.collection.name === collection && each.action.key === key && getSharedName(each) === name
      })
      const result = called && await callAction(called, own, source)
      return result ?? refuseUnknown('action', `${String(key)} of ${String(collection)}`, collectionHint)
    }
  }
}

const collectionHint = 'Call "describe" for the collections that you can use, and for their actions.'

function summarize (open: readonly OpenAction[]): object[] {
  return [...new Set(open.map(({ collection }) => collection))].map((collection) => {
    const { name, schema: { description } } = collection
    const actions = open.filter((each) => each.collection === collection).map(({ action: { key } }) => key)
    return { name, ...description !== undefined && { description }, actions }
  })
}

/** Says which tool to call for an action, and with what. */
function toCallable (open: OpenAction): object {
  const { description, inputSchema } = describeAction(open)
  return { tool: getSharedName(open), description, arguments: inputSchema }
}

/** Beyond this many, the names are left to the tool itself. */
const maxNames = 100

function toDescribeTool (open: readonly OpenAction[]): AgentTool {
  const names = [...new Set(open.map(({ collection: { name } }) => name))]
  const collection = {
    type: 'string',
    description: 'Left out: all collections.',
    ...names.length <= maxNames && { enum: names }
  }
  return {
    name: 'describe',
    description: 'Describe a collection: what you can do with it, and the schema of its items. Call it first.',
    inputSchema: { type: 'object', properties: { collection }, additionalProperties: false },
    annotations: readHints
  }
}

/** An action that only reads and one that changes something are run by the same tool. */
const runHints: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false
}

/** Returns the tool for actions of several collections; undefined if there are none. */
function toTool (name: string, actions: readonly OpenAction[]): AgentTool | undefined {
  const [first] = actions
  if (first === undefined) return undefined
  const needs = mergeNeeds(actions)
  const own = [...needs.keys()].map((argument): [string, JsonSchema] => [argument, agentArguments[argument].schema])
  const always = ['collection', ...name === 'run' ? ['action'] : []]
  const others = always.map((argument): [string, JsonSchema] => [argument, { type: 'string' }])
  const required = [...needs].filter(([, need]) => need === 'required').map(([argument]) => argument)
  return {
    name,
    description: descriptions[name]!,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries([...others, ...own]),
      required: [...always, ...required],
      additionalProperties: false
    },
    annotations: name === 'run' ? runHints : getHints(first)
  }
}

/** An argument is required if all actions require it. */
function mergeNeeds (actions: readonly OpenAction[]): Needs {
  const names = new Set<ArgumentName>(actions.flatMap(({ needs }) => [...needs.keys()]))
  return new Map([...names].map((name) => {
    const isRequired = actions.every(({ needs }) => needs.get(name) === 'required')
    return [name, isRequired ? 'required' : 'optional']
  }))
}

import type { CallToolResult, Server, Tool } from '@modelcontextprotocol/server'
import { problem } from '../../http/problems.ts'
import type { AgentRequest } from './call.ts'
import type { CallLimit } from './call-limit.ts'
import { toErrorResult } from './results.ts'
import type { Tools } from './tools.ts'

/** The official package, which does the protocol. */
export type Protocol = typeof import('@modelcontextprotocol/server')

const instructions = 'Read or list items before you change them, and pass the tag that you got with an item. ' +
  'Pass a new key for each new call; repeat a call with the same key only if you did not get its result.'

interface ServerOptions {
  readonly tools: Tools
  readonly limit: CallLimit
  /** Returns what tells callers apart. */
  getCallerName (source: AgentRequest): Promise<string>
}

/** Creates the server for one request. */
export function createServer (protocol: Protocol, source: AgentRequest, options: ServerOptions): Server {
  const { tools, limit, getCallerName } = options

  async function listTools (): Promise<{ tools: Tool[] }> {
    // Their schemas are JSON.
    return { tools: await tools.list(source.request) as Tool[] }
  }

  async function callTool (name: string, given: Readonly<Record<string, unknown>>): Promise<CallToolResult> {
    const seconds = limit.count(await getCallerName(source))
    if (seconds === undefined) return tools.call(name, given, source)
    const detail = `You have called too many tools. Wait ${seconds} seconds, then repeat the call.`
    return toErrorResult(problem('too-many-requests', { detail, headers: { 'retry-after': String(seconds) } }))
  }

  /** The protocol sends the message of an error, which is not meant for clients. */
  async function hideFailure<Result> (work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (err) {
      source.request.log.error({ err }, 'a request of an agent failed')
      throw new Error('The request failed.')
    }
  }

  const server = new protocol.Server(
    { name: 'fastify-collections', version: '1' },
    { capabilities: { tools: {} }, instructions }
  )
  server.setRequestHandler('tools/list', () => hideFailure(listTools))
  server.setRequestHandler('tools/call', ({ params }) => {
    return hideFailure(() => callTool(params.name, params.arguments ?? {}))
  })
  return server
}

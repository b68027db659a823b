import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ItemRendering, ListRendering, Rendering } from '../../engine/rendering.ts'
import { getDetail, Problem, problem } from '../../http/problems.ts'
import type { ProblemName } from '../../http/problems.ts'
import { findNextCursor } from '../../query/cursor.ts'

// What an agent gets: entries, as code and the client have them, or what was wrong and what to do next.

/** Returns the result of a call. */
export function toResult (rendering: Rendering): CallToolResult {
  switch (rendering.kind) {
    case 'item': return createResult(toEntry(rendering))
    case 'list': return toPage(rendering)
    case 'output': return createResult(rendering.output)
    case 'empty': return createResult({ done: true })
    case 'moved': return toErrorResult(problem('not-found'))
  }
}

/** A caller who may write the item, but not read it, gets its id. */
function toEntry (rendering: ItemRendering): object {
  const { entry: { id }, hasContent, itemVersion: tag } = rendering
  return hasContent ? { id, tag, item: rendering.show() } : { id, tag }
}

function toPage (rendering: ListRendering): CallToolResult {
  const { found } = rendering
  const shown = rendering.showAll()
  if (shown instanceof Problem) return toErrorResult(shown)
  const { page, items } = shown
  // A page may end early, if its items are long.
  const next = found && findNextCursor(found.lists, { ...found, page })
  return createResult({
    entries: page.entries.map((entry, index) => {
      return { id: entry.id, tag: rendering.getItemVersion(entry), item: items[index] }
    }),
    ...next !== undefined && { next },
    ...page.total !== undefined && { total: page.total }
  })
}

/** Hosts pass on the text or the structured content, so both have the same. */
export function createResult (value: object, isError = false): CallToolResult {
  const text = JSON.stringify(value)
  return { content: [{ type: 'text', text }], structuredContent: { ...value }, ...isError && { isError } }
}

/** For agents, which know nothing of headers and URIs. */
const details: Partial<Readonly<Record<ProblemName, string>>> = {
  'not-found': 'There is no item with this id, or you may not see it. List items to find ids.',
  'precondition-failed': 'The item has changed since you read it, so nothing was written. ' +
    '"current" is the item as it is now: decide again, and pass its tag.',
  'idempotency-key-reused': 'You used this key for a call with other arguments, so nothing was written. ' +
    'Pass a new key for a new call.',
  'idempotency-key-in-use': 'The first call with this key is still running. ' +
    'Repeat the call with the same key and arguments after a second.'
}

/** What the app says takes precedence, except for keys, which are a header over HTTP. */
function describeRefusal (refused: Problem): string {
  const { name, detail } = refused
  const own = name && details[name]
  const isAboutKey = name?.startsWith('idempotency') === true
  return own === undefined || (detail !== undefined && !isAboutKey) ? getDetail(refused) : own
}

interface ErrorOptions {
  /** The argument that the pointers are about. */
  readonly at?: string
  /** The item that the agent has to decide by. */
  readonly current?: Rendering | undefined
}

interface Located {
  readonly pointer: string
}

/** Returns the result of a call that was refused or has failed. Pointers are those of the arguments. */
export function toErrorResult (refused: Problem, { at = '', current }: ErrorOptions = {}): CallToolResult {
  const { status, name, properties, headers } = refused
  const errors = properties?.errors as readonly Located[] | undefined
  const retryAfter = headers?.['retry-after']
  return createResult({
    status,
    code: name,
    detail: describeRefusal(refused),
    ...errors !== undefined && { errors: errors.map((error) => ({ ...error, pointer: at + error.pointer })) },
    ...retryAfter !== undefined && { retryAfter: Number(retryAfter) },
    ...current?.kind === 'item' && current.hasContent && { current: toEntry(current) }
  }, true)
}

import type { Preferences } from '../http/prefer.ts'
import { buildMatchedSchema } from '../schema/matched.ts'
import type { Entry, Id } from '../storage/contract.ts'
import { canSee, getVisibility } from './idempotency-key.ts'
import type { Visibility } from './idempotency-key.ts'
import type { Operation } from './operation.ts'
import { createEmpty, ItemRendering, ListRendering } from './rendering.ts'
import type { Rendering, ShownType, Viewer } from './rendering.ts'

// What is kept for an idempotency key: what an operation has led to, as its caller saw it. What the caller did not see
// is not kept. A request that repeats the operation can ask for another format.

interface StoredEntry {
  readonly id: Id
  /** Undefined if the content is not kept. */
  readonly item?: object | undefined
  readonly version: string
  /** As a date-time. */
  readonly modified?: string | undefined
}

/** Without an item, a list and an output, there was no content. */
interface Stored {
  readonly item?: StoredEntry
  readonly list?: readonly StoredEntry[]
  readonly output?: object
  readonly isCreated: boolean
  readonly prefers: Preferences['return']
  readonly applied: Preferences['return']
  readonly visibility: Visibility | undefined
}

/** Returns what is kept, as JSON. Content that is longer than `maxLength`, in bytes, is left out. */
export function storeRendering (rendering: Rendering, operation: Operation, maxLength: number): string {
  const about: Omit<Stored, 'item' | 'list' | 'output'> = {
    isCreated: rendering.kind === 'item' && rendering.status === 201,
    prefers: operation.prefers,
    applied: rendering.applied,
    visibility: getVisibility(operation)
  }
  return JSON.stringify({ ...about, ...storeContent(rendering, maxLength) })
}

function storeContent (rendering: Rendering, maxLength: number): Pick<Stored, 'item' | 'list' | 'output'> {
  const limit = <Content extends object>(content: Content): Content | undefined => {
    return Buffer.byteLength(JSON.stringify(content)) <= maxLength ? content : undefined
  }
  switch (rendering.kind) {
    case 'item': {
      const { entry: { id }, itemVersion: version, modified, hasContent } = rendering
      const item = hasContent ? limit(rendering.show()) : undefined
      return { item: { id, item, version, modified: modified?.toISOString() } }
    }
    case 'list': {
      const { page: { entries }, hasContent } = rendering
      const items = hasContent ? limit(entries.map((entry) => rendering.show(entry))) : undefined
      const list = items?.map((item, index) => {
        return { id: entries[index]!.id, item, version: rendering.getItemVersion(entries[index]!) }
      })
      return { list: list ?? [] }
    }
    case 'output': {
      const output = limit(rendering.output)
      return output === undefined ? {} : { output }
    }
    // The key of an item that has moved is not kept.
    case 'empty':
    case 'moved': return {}
  }
}

/** Returns what was kept, for the caller of the same operation. One who can no longer see as much gets no content. */
export function restoreRendering (text: string, operation: Operation): Rendering {
  // `storeRendering` has written it, in this or another process.
  const { item, list, output, isCreated, visibility, ...stored } = JSON.parse(text) as Stored
  const { action, isApp, view: { type } } = operation
  const isMinimal = operation.prefers === 'minimal'
  const isVisible = canSee(getVisibility(operation), visibility)
  const createViewer = (isKept: boolean): Viewer => ({
    action,
    isApp,
    prefers: isMinimal ? 'minimal' : stored.prefers,
    view: { type: asShown(type) },
    hidesContent: !isVisible || !isKept
  })
  if (item !== undefined) {
    const outcome = { kind: 'entry', entry: toEntry(item), created: isCreated } as const
    return new ItemRendering(outcome, createViewer(item.item !== undefined))
  }
  if (list !== undefined) {
    return new ListRendering({ entries: list.map(toEntry), more: false }, createViewer(list.length > 0))
  }
  const applied = isMinimal ? 'minimal' : stored.applied
  if (output === undefined || isMinimal) return createEmpty(applied)
  if (!isVisible) return { ...createEmpty(applied), hidesOutput: true }
  const schema = action.custom?.output ?? buildMatchedSchema(type)
  return { kind: 'output', status: 200, output, schema, applied, dependsOn: undefined, isPrivate: false }
}

/** The type of items that have been shown already. The schema may hide more since then. */
function asShown (type: ShownType): ShownType {
  return {
    id: type.id,
    schema: type.schema,
    hidden: undefined,
    timestamps: { created: undefined, updated: undefined },
    getVersion: ({ version }) => version,
    show: (item) => type.show(item)
  }
}

function toEntry ({ id, item = {}, version, modified }: StoredEntry): Entry<object> {
  return { id, item, version, ...modified !== undefined && { modified: new Date(modified) } }
}

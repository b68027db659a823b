import { findNextCursor } from '../query/cursor.ts'
import { limitPageLength } from '../query/page-length.ts'
import type { ShownPage } from '../query/page-length.ts'
import type { Problem } from '../http/problems.ts'
import type { Preferences } from '../http/prefer.ts'
import type { ItemType } from '../schema/item-type.ts'
import { getLastModified } from '../schema/last-modified.ts'
import { buildMatchedSchema } from '../schema/matched.ts'
import type { Entry, JsonSchema, Page } from '../storage/contract.ts'
import type { EntryOutcome, GroupsOutcome, Moved, Operation, Outcome, PageOutcome, RelatedData } from './operation.ts'
import { applySelection, getPositionVersion, getSelection, getSelectionVersion, hashVersions } from './selection.ts'
import type { Embed, Selection } from './selection.ts'

// What an outcome is for its caller: before a format, a URL, a tag or a header. Doors write it.

/** The type of the items, as the caller sees them. */
export type ShownType = Pick<ItemType, 'hidden' | 'id' | 'schema' | 'timestamps' | 'getVersion' | 'show'>

/** For whom an outcome is rendered: mostly the operation itself. */
export interface Viewer extends Pick<Operation, 'action' | 'isApp' | 'prefers'> {
  readonly view: { readonly type: ShownType }
  /** Whether what was written is not shown, whatever the caller prefers. */
  readonly hidesContent?: boolean
}

export type Rendering = ItemRendering | ListRendering | OutputRendering | EmptyRendering | MovedRendering

/** What a response depends on, beside what it shows. */
interface Dependent {
  /** The other collections. */
  readonly dependsOn: RelatedData | undefined
  /** Whether it is for this caller only, whatever the cache policy says. */
  readonly isPrivate: boolean
  /** The preference that it follows. */
  readonly applied: Preferences['return']
}

/** An item that was read or written. Nothing is shown or computed before a door needs it. */
export class ItemRendering implements Dependent {
  readonly kind = 'item'
  readonly entry: Entry<object>
  readonly selection: Selection | undefined
  readonly dependsOn: RelatedData | undefined
  readonly isPrivate: boolean
  /** Whether the item is gone, so that it has no version. */
  readonly isRemoved: boolean
  readonly #outcome: EntryOutcome
  readonly #viewer: Viewer

  constructor (outcome: EntryOutcome, viewer: Viewer, isRemoved = false) {
    this.entry = outcome.entry
    this.selection = getSelection(outcome)
    this.dependsOn = outcome.related
    this.isPrivate = outcome.isPrivate === true
    this.isRemoved = isRemoved
    this.#outcome = outcome
    this.#viewer = viewer
  }

  get status (): 200 | 201 | 204 {
    if (this.#outcome.created) return 201
    return this.hasContent ? 200 : 204
  }

  get applied (): Preferences['return'] {
    return this.#viewer.action.reads ? undefined : this.#viewer.prefers
  }

  /** False if the caller does not want, or may not see, what it has written. */
  get hasContent (): boolean {
    return this.applied !== 'minimal' && this.#viewer.hidesContent !== true
  }

  /** The version of what is shown, for its entity tag. */
  get version (): string {
    const { entry, selection } = this
    const { type } = this.#viewer.view
    return selection === undefined ? type.getVersion(entry) : getSelectionVersion(type, entry, selection)
  }

  /** The version of the whole item, for If-Match. */
  get itemVersion (): string {
    return this.#viewer.view.type.getVersion(this.entry)
  }

  /** When it changed last; undefined if it also changes separately, with related items. */
  get modified (): Date | undefined {
    const hasAdditions = this.selection !== undefined && this.selection.additions.length > 0
    return hasAdditions ? undefined : getLastModified(this.#viewer.view.type, this.entry)
  }

  show (embed?: Embed): object {
    return applySelection(this.#viewer.view.type, this.entry, this.selection, embed)
  }
}

/** Several items: a page of a list, or those that were created. */
export class ListRendering implements Dependent {
  readonly kind = 'list'
  readonly page: Page<object>
  /** The page of a list; undefined for items that were created. */
  readonly found: PageOutcome | undefined
  readonly selection: Selection | undefined
  readonly dependsOn: RelatedData | undefined
  readonly isPrivate: boolean
  readonly #viewer: Viewer

  constructor (page: Page<object>, viewer: Viewer, found?: PageOutcome) {
    this.page = page
    this.found = found
    this.selection = found && getSelection(found)
    this.dependsOn = found?.related
    this.isPrivate = found?.isPrivate === true
    this.#viewer = viewer
  }

  get status (): 200 | 201 {
    return this.found === undefined ? 201 : 200
  }

  get applied (): Preferences['return'] {
    return this.found === undefined ? this.#viewer.prefers : undefined
  }

  get hasContent (): boolean {
    return this.applied !== 'minimal' && this.#viewer.hidesContent !== true
  }

  show (entry: Entry<object>, embed?: Embed): object {
    return applySelection(this.#viewer.view.type, entry, this.selection, embed)
  }

  /** Returns the items as they are shown. Of a list that would be too long, fewer. */
  showAll (embed?: Embed): ShownPage | Problem {
    const { page, found } = this
    const shown = { page, items: page.entries.map((entry) => this.show(entry, embed)) }
    return found === undefined ? shown : limitPageLength(shown, found)
  }

  /** The version of a page: it changes when an entry changes or moves, or when a next page appears or disappears. */
  getVersion ({ entries, more }: Page<object>): string {
    const { selection } = this
    const { type } = this.#viewer.view
    let versions = `${more}\n`
    for (const entry of entries) {
      const version = selection === undefined ? type.getVersion(entry) : getSelectionVersion(type, entry, selection)
      versions += `${entry.id} ${version}${getPositionVersion(entry)}\n`
    }
    return hashVersions(versions)
  }

  /** The version of a whole item, for If-Match. */
  getItemVersion (entry: Entry<object>): string {
    return this.#viewer.view.type.getVersion(entry)
  }

  /** The cursor of the next page; undefined if there is none. */
  get next (): string | undefined {
    return this.found && findNextCursor(this.found.lists, this.found)
  }
}

/** An object that is no item: the output of an action, groups and figures, or how many items were written. */
export interface OutputRendering extends Dependent {
  readonly kind: 'output'
  readonly status: 200
  readonly output: object
  readonly schema: JsonSchema
}

export interface EmptyRendering extends Dependent {
  readonly kind: 'empty'
  readonly status: 204
  /** Whether there was an output that the caller does not see any more. */
  readonly hidesOutput?: boolean
}

/** The item has another id, or another URI. */
export interface MovedRendering extends Dependent, Moved {}

const nothing: Dependent = { dependsOn: undefined, isPrivate: false, applied: undefined }
const empty: EmptyRendering = { kind: 'empty', status: 204, ...nothing }

export function createEmpty (applied: Preferences['return']): EmptyRendering {
  return { ...empty, applied }
}

/** Renders what an operation has led to, for all doors. */
export function render (outcome: Outcome, viewer: Viewer): Rendering {
  switch (outcome.kind) {
    case 'entry': return new ItemRendering(outcome, viewer)
    case 'page': return new ListRendering(outcome.page, viewer, outcome)
    case 'output': return renderOutput(outcome, viewer)
    case 'groups': return renderGroups(outcome, viewer)
    case 'removed': return renderRemoved(outcome, viewer)
    case 'many': return new ListRendering({ entries: outcome.entries, more: false }, viewer)
    case 'matched': return renderMatched(outcome, viewer)
    case 'moved': return { ...nothing, ...outcome }
    case 'replayed': return outcome.rendering
  }
}

/** What a custom action leads to: its output, or the item, or neither. */
function renderOutput ({ output, entry }: Extract<Outcome, { kind: 'output' }>, viewer: Viewer): Rendering {
  if (output === undefined) {
    return entry === undefined ? empty : new ItemRendering({ kind: 'entry', entry, created: false }, viewer)
  }
  const action = viewer.action.custom!
  const shown = viewer.isApp ? output : action.showOutput(output)
  return { ...nothing, kind: 'output', status: 200, output: shown, schema: action.output! }
}

function renderGroups ({ output, related, isPrivate = false }: GroupsOutcome, { action }: Viewer): Rendering {
  const { output: schema } = action.aggregate!
  return { ...nothing, kind: 'output', status: 200, output, schema, dependsOn: related, isPrivate }
}

/** A client gets the removed item if it prefers that. */
function renderRemoved ({ entry }: Extract<Outcome, { kind: 'removed' }>, viewer: Viewer): Rendering {
  if (entry === undefined || viewer.prefers !== 'representation') return empty
  return new ItemRendering({ kind: 'entry', entry, created: false }, viewer, true)
}

/** How many items were written; which ones, if the caller prefers that. */
function renderMatched ({ ids }: Extract<Outcome, { kind: 'matched' }>, { view, prefers }: Viewer): Rendering {
  if (prefers === 'minimal') return createEmpty(prefers)
  const output = { count: ids.length, ...prefers === 'representation' && { ids } }
  return { ...nothing, kind: 'output', status: 200, output, schema: buildMatchedSchema(view.type), applied: prefers }
}

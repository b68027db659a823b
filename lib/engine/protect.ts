import { freezeJson } from '../http/json-value.ts'
import type { Entry } from '../storage/contract.ts'
import type { ActionInfo } from './action-info.ts'
import type { ItemChange, Layer, Outcome, Position, Positions } from './operation.ts'

// Features of an app get entries that they cannot change, on every storage.

/** Freezes an entry that a function of an app gets. Storages that keep their entries freeze them themselves. */
export function protectEntry (entry: Entry<object> | undefined): Entry<object> | undefined {
  if (entry === undefined || Object.isFrozen(entry)) return entry
  return Object.freeze({ ...entry, item: freezeJson(entry.item) })
}

function protectEntries (entries: ReadonlyArray<Entry<object>>): ReadonlyArray<Entry<object>> {
  return entries.map((entry) => protectEntry(entry)!)
}

function protectChanges (changes: readonly ItemChange[]): readonly ItemChange[] {
  return changes.map((change) => ({ ...change, before: protectEntry(change.before) }))
}

function protectOutcome (outcome: Outcome): Outcome {
  switch (outcome.kind) {
    case 'entry': return { ...outcome, entry: protectEntry(outcome.entry)! }
    case 'output':
    case 'removed': return { ...outcome, entry: protectEntry(outcome.entry) }
    case 'page': return { ...outcome, page: { ...outcome.page, entries: protectEntries(outcome.page.entries) } }
    case 'many': return { ...outcome, entries: protectEntries(outcome.entries) }
    default: return outcome
  }
}

/** How a position is protected: what the layer gets when it is called, and what it gets from the function inside. */
interface Protection<At extends Position> {
  layer (layer: Positions[At]): Positions[At]
  next (next: Positions[At]): Positions[At]
}

/** Both positions run a whole operation. */
const run: Protection<'operation'> & Protection<'authorized'> = {
  layer: (layer) => layer,
  next: (next) => async (operation) => {
    const outcome = await next(operation)
    return 'kind' in outcome ? protectOutcome(outcome) : outcome
  }
}

const protections: { readonly [At in Position]: Protection<At> } = {
  operation: run,
  authorized: run,
  find: {
    layer: (layer) => layer,
    next: (next) => async (...parameters) => {
      const found = await next(...parameters)
      return found !== undefined && 'item' in found ? protectEntry(found) : found
    }
  },
  content: {
    layer: (layer) => (operation, before) => layer(operation, protectEntry(before)),
    next: (next) => next
  },
  write: {
    layer: (layer) => (operation, changes, options) => layer(operation, protectChanges(changes), options),
    next: (next) => async (...parameters) => {
      const written = await next(...parameters)
      return Array.isArray(written) ? written.map(protectEntry) : written
    }
  }
}

/** Puts the layer of a feature around `next`. What it gets is frozen, unless its feature says that it keeps entries. */
export function wrapLayer<At extends Position> (
  { position, wrap, keepsEntries }: Layer<At>,
  next: Positions[At],
  action: ActionInfo
): Positions[At] {
  if (keepsEntries) return wrap(next, action)
  const { layer, next: protect } = protections[position]
  const inner = protect(next)
  const wrapped = wrap(inner, action)
  return wrapped === inner ? next : layer(wrapped)
}

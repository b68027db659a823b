// RFC 6902: JSON Patch.

import { deepest, Draft } from './json-patch-draft.ts'
import type { Location } from './json-patch-draft.ts'
import { parsePointer } from './json-pointer.ts'
import { equal, isDeeper, isObject } from './json-value.ts'
import type { Members } from './json-value.ts'
import { PatchRefusal } from './patch-refusal.ts'

export { PatchRefusal }

/** The document that the operations make of the given one, which stays as it is. Throws `PatchRefusal`. */
export function jsonPatch (document: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw malformed(0, 'A JSON Patch is an array of operations.')
  const steps = operations.map(step)
  const draft = new Draft(document)
  for (const apply of steps) apply(draft)
  if (steps.length > 0 && isDeeper(draft.document, deepest)) {
    throw new PatchRefusal({ kind: 'inapplicable', detail: `The result is nested deeper than ${deepest} levels.`, index: steps.length - 1 })
  }
  return draft.document
}

type Step = (draft: Draft) => void

/** §3: an operation object; §4: members that it does not define are ignored. */
function step (operation: unknown, index: number): Step {
  if (!isObject(operation)) throw malformed(index, 'An operation is an object.')
  const make = Object.entries(operations).find(([name]) => name === operation['op'])?.[1]
  if (make === undefined) throw malformed(index, `An operation has "op": ${Object.keys(operations).join(', ')}.`)
  return make(operation, location(operation, 'path', index))
}

type Make = (operation: Members, path: Location) => Step

/** §4.1 to §4.6 */
const operations: Readonly<Record<string, Make>> = {
  add (operation, path) {
    const value = valueOf(operation, path)
    return draft => draft.add(path, value)
  },
  remove (_operation, path) {
    return draft => { draft.remove(path) }
  },
  replace (operation, path) {
    const value = valueOf(operation, path)
    return draft => draft.replace(path, value)
  },
  move (operation, path) {
    const from = location(operation, 'from', path.index)
    if (path.pointer.startsWith(from.pointer + '/')) throw malformed(path.index, 'A value cannot be moved into itself.', path.pointer)
    if (path.pointer === from.pointer) return draft => { draft.get(from) }
    return draft => draft.add(path, draft.remove(from))
  },
  copy (operation, path) {
    const from = location(operation, 'from', path.index)
    return draft => draft.add(path, draft.copy(from))
  },
  test (operation, path) {
    const value = valueOf(operation, path)
    return draft => {
      if (equal(draft.get(path), value)) return
      throw new PatchRefusal({ kind: 'test', detail: 'The value differs from the one that the operation expects.', index: path.index, pointer: path.pointer })
    }
  }
}

function valueOf (operation: Members, path: Location): unknown {
  if (!Object.hasOwn(operation, 'value')) throw malformed(path.index, 'The operation needs a "value".', path.pointer)
  return operation['value']
}

function location (operation: Members, member: 'path' | 'from', index: number): Location {
  const pointer = Object.hasOwn(operation, member) ? operation[member] : undefined
  if (typeof pointer !== 'string') throw malformed(index, `The operation needs a "${member}".`)
  const parents = parsePointer(pointer)
  if (parents === undefined) throw malformed(index, `The "${member}" is not a JSON Pointer.`)
  if (parents.includes('__proto__')) throw malformed(index, `The "${member}" cannot name "__proto__".`)
  return { pointer, last: parents.pop(), parents, index }
}

function malformed (index: number, detail: string, pointer?: string): PatchRefusal {
  return new PatchRefusal({ kind: 'malformed', detail, index, pointer })
}

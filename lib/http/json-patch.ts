// RFC 6902: JSON Patch.

import { Draft, maxDepth } from './json-patch-draft.ts'
import type { Location } from './json-patch-draft.ts'
import { parsePointer } from './json-pointer.ts'
import { isDeeperThan, isObject } from './json-value.ts'
import type { JsonObject } from './json-value.ts'
import { PatchRefusal } from './patch-refusal.ts'

export { PatchRefusal }

/** Returns the patched document; the given one is not changed. Throws `PatchRefusal`. */
export function applyJsonPatch (document: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw toMalformed(0, 'A JSON Patch is an array of operations.')
  const steps = operations.map(parseOperation)
  const draft = new Draft(document)
  for (const apply of steps) apply(draft)
  const result = draft.finish()
  if (steps.length > 0 && isDeeperThan(result, maxDepth)) {
    throw new PatchRefusal({
      kind: 'inapplicable',
      detail: `The result is nested deeper than ${maxDepth} levels.`,
      index: steps.length - 1
    })
  }
  return result
}

type Step = (draft: Draft) => void

/** Parses an operation object (RFC 6902, section 3). Members that it does not define are ignored (section 4). */
function parseOperation (operation: unknown, index: number): Step {
  if (!isObject(operation)) throw toMalformed(index, 'An operation is an object.')
  const { op } = operation
  const parser = typeof op === 'string' && Object.hasOwn(parsers, op) ? parsers[op] : undefined
  if (parser === undefined) throw toMalformed(index, `An operation has "op": ${Object.keys(parsers).join(', ')}.`)
  return parser(operation, parseLocation(operation, 'path', index))
}

type OperationParser = (operation: JsonObject, path: Location) => Step

/** RFC 6902, sections 4.1 to 4.6. */
const parsers: Readonly<Record<string, OperationParser>> = {
  add (operation, path) {
    const value = getValue(operation, path)
    return (draft) => draft.add(path, value)
  },
  remove (_operation, path) {
    return (draft) => { draft.remove(path) }
  },
  replace (operation, path) {
    const value = getValue(operation, path)
    return (draft) => draft.replace(path, value)
  },
  move (operation, path) {
    const from = parseLocation(operation, 'from', path.index)
    if (path.pointer.startsWith(from.pointer + '/')) {
      throw toMalformed(path.index, 'A value cannot be moved into itself.', path.pointer)
    }
    if (path.pointer === from.pointer) return (draft) => draft.check(from)
    return (draft) => draft.add(path, draft.remove(from))
  },
  copy (operation, path) {
    const from = parseLocation(operation, 'from', path.index)
    return (draft) => draft.add(path, draft.copy(from))
  },
  test (operation, path) {
    const value = getValue(operation, path)
    return (draft) => {
      if (draft.test(path, value)) return
      throw new PatchRefusal({
        kind: 'test',
        detail: 'The value differs from the one that the operation expects.',
        index: path.index,
        pointer: path.pointer
      })
    }
  }
}

function getValue (operation: JsonObject, path: Location): unknown {
  if (!Object.hasOwn(operation, 'value')) {
    throw toMalformed(path.index, 'The operation needs a "value".', path.pointer)
  }
  return operation['value']
}

function parseLocation (operation: JsonObject, member: 'path' | 'from', index: number): Location {
  const pointer = Object.hasOwn(operation, member) ? operation[member] : undefined
  if (typeof pointer !== 'string') throw toMalformed(index, `The operation needs a "${member}".`)
  const parents = parsePointer(pointer)
  if (parents === undefined) throw toMalformed(index, `The "${member}" is not a JSON Pointer.`)
  if (parents.includes('__proto__')) throw toMalformed(index, `The "${member}" cannot name "__proto__".`)
  return { pointer, last: parents.pop(), parents, index }
}

function toMalformed (index: number, detail: string, pointer?: string): PatchRefusal {
  return new PatchRefusal({ kind: 'malformed', detail, index, pointer })
}

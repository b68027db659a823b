// RFC 6902, section 4: a document to which operations are applied. Changed parts are copied once, the rest is shared.

import { isEqual, isObject } from './json-value.ts'
import type { JsonObject } from './json-value.ts'
import { PatchRefusal } from './patch-refusal.ts'

/** A JSON Pointer of the operation at `index`. `last` is undefined if it points to the whole document. */
export interface Location {
  readonly pointer: string
  readonly parents: readonly string[]
  readonly last: string | undefined
  readonly index: number
}

/** Moves and copies could otherwise nest a document deeper than content can be. */
export const maxDepth = 64

type Container = unknown[] | JsonObject

/** In values and characters. A copy of a copy doubles it: a few dozen operations would fill any memory. */
const maxCopied = 1_048_576

/** Inserting or removing an array item moves all items after it: thousands of operations could take minutes. */
const maxShifted = 268_435_456

/**
 * The value of a member that was removed. It is deleted in the end: to delete and add the same name in a large object
 * takes longer each time.
 */
const removed = Symbol('removed')

export class Draft {
  #document: unknown
  readonly #copies = new WeakSet<object>()
  /** The objects that have removed members. */
  readonly #incomplete = new Set<JsonObject>()
  #copied = 0
  #shifted = 0

  constructor (document: unknown) {
    this.#document = document
  }

  /** Returns the document after all operations. */
  finish (): unknown {
    for (const object of this.#incomplete) {
      for (const [name, value] of Object.entries(object)) {
        if (value === removed) delete object[name]
      }
    }
    return this.#document
  }

  /** Throws if there is no such value. */
  check (path: Location): void {
    this.#get(path)
  }

  /** Whether the value at the location equals this one. */
  test (path: Location, expected: unknown): boolean {
    return isSame(this.#get(path), expected)
  }

  #get (path: Location): unknown {
    let value = this.#document
    for (const segment of path.parents) value = getMember(toContainer(value, path), segment, path)
    return path.last === undefined ? value : getMember(toContainer(value, path), path.last, path)
  }

  add (path: Location, value: unknown): void {
    const { last } = path
    if (last === undefined) {
      this.#document = value
      return
    }
    const parent = this.#copyParent(path)
    if (!Array.isArray(parent)) {
      parent[last] = value
    } else if (last === '-') {
      parent.push(value)
    } else {
      const index = parseIndex(last, parent.length + 1, path)
      this.#countShifted(index, parent, path)
      parent.splice(index, 0, value)
    }
  }

  remove (path: Location): unknown {
    const { last } = path
    if (last === undefined) throw refuse(path, 'The whole document cannot be removed.')
    const parent = this.#copyParent(path)
    const value = getMember(parent, last, path)
    if (Array.isArray(parent)) {
      const index = Number(last)
      this.#countShifted(index, parent, path)
      parent.splice(index, 1)
    } else {
      parent[last] = removed
      this.#incomplete.add(parent)
    }
    return value
  }

  replace (path: Location, value: unknown): void {
    const { last } = path
    if (last === undefined) {
      this.#document = value
      return
    }
    const parent = this.#copyParent(path)
    getMember(parent, last, path)
    setMember(parent, last, value)
  }

  /** Returns a deep copy, so that a later change of one place does not change the other. */
  copy (from: Location): unknown {
    return this.#clone(this.#get(from), from, maxDepth)
  }

  #countShifted (index: number, array: readonly unknown[], path: Location): void {
    this.#shifted += array.length - index
    if (this.#shifted > maxShifted) throw refuse(path, 'The operations move too many array items.')
  }

  #clone (value: unknown, from: Location, levels: number): unknown {
    this.#copied += typeof value === 'string' ? value.length : 1
    if (this.#copied > maxCopied) throw refuse(from, 'The operations copy too much.')
    if (typeof value !== 'object' || value === null) return value
    if (levels === 0) throw refuse(from, `The value is nested deeper than ${maxDepth} levels.`)
    if (Array.isArray(value)) return value.map((element) => this.#clone(element, from, levels - 1))
    const members = Object.entries(value).filter(([, member]) => member !== removed)
    return Object.fromEntries(members.map(([name, member]) => [name, this.#clone(member, from, levels - 1)]))
  }

  /** Returns the parent of the location, after everything on the path to it has been copied. */
  #copyParent (path: Location): Container {
    let parent = this.#copyOnce(this.#document, path)
    this.#document = parent
    for (const segment of path.parents) {
      const next = this.#copyOnce(getMember(parent, segment, path), path)
      setMember(parent, segment, next)
      parent = next
    }
    return parent
  }

  #copyOnce (value: unknown, path: Location): Container {
    const original = toContainer(value, path)
    if (this.#copies.has(original)) return original
    const copy = Array.isArray(original) ? original.slice() : { ...original }
    this.#copies.add(copy)
    return copy
  }
}

function toContainer (value: unknown, path: Location): Container {
  if (typeof value !== 'object' || value === null) {
    throw refuse(path, 'The parent of the location is not an array or object.')
  }
  // An object that was parsed from JSON has no methods.
  return value as Container
}

function getMember (container: Container, segment: string, path: Location): unknown {
  if (Array.isArray(container)) return container[parseIndex(segment, container.length, path)]
  const value = Object.hasOwn(container, segment) ? container[segment] : removed
  if (value === removed) throw refuse(path, 'There is no such member.')
  return value
}

/** Like `isEqual`, for a value of the draft. */
function isSame (value: unknown, expected: unknown): boolean {
  if (Array.isArray(value) && Array.isArray(expected)) {
    return value.length === expected.length && value.every((element, index) => isSame(element, expected[index]))
  }
  if (!isObject(value) || !isObject(expected)) return isEqual(value, expected)
  const names = Object.keys(value).filter((name) => value[name] !== removed)
  return names.length === Object.keys(expected).length &&
    names.every((name) => Object.hasOwn(expected, name) && isSame(value[name], expected[name]))
}

function setMember (container: Container, segment: string, value: unknown): void {
  if (Array.isArray(container)) container[Number(segment)] = value
  else container[segment] = value
}

/** RFC 6901, section 4: an index has no leading zeros. */
function parseIndex (segment: string, end: number, path: Location): number {
  const index = /^(?:0|[1-9][0-9]*)$/.test(segment) ? Number(segment) : end
  if (index >= end) throw refuse(path, 'There is no such index.')
  return index
}

function refuse ({ pointer, index }: Location, detail: string): PatchRefusal {
  return new PatchRefusal({ kind: 'inapplicable', detail, index, pointer })
}

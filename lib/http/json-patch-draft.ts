// RFC 6902 §4: a document while operations are applied to it. What they touch is copied once, the rest is shared.

import type { Members } from './json-value.ts'
import { PatchRefusal } from './patch-refusal.ts'

/** A JSON Pointer of the operation at `index`; without `last` it is the whole document. */
export interface Location {
  readonly pointer: string
  readonly parents: readonly string[]
  readonly last: string | undefined
  readonly index: number
}

/** Moves and copies can build what no content could bring in one piece. */
export const deepest = 64

type Container = unknown[] | Members

// A copy of a copy doubles it: a few dozen operations would fill any memory. Counted in values and characters.
const mostCopied = 1_048_576

// Whatever is put in or taken out of an array moves all that is behind it: a few thousand operations on a long one would take minutes.
const mostShifted = 268_435_456

export class Draft {
  document: unknown
  readonly #own = new WeakSet<object>()
  #copied = 0
  #shifted = 0

  constructor (document: unknown) {
    this.document = document
  }

  get (path: Location): unknown {
    let value = this.document
    for (const segment of path.parents) value = member(container(value, path), segment, path)
    return path.last === undefined ? value : member(container(value, path), path.last, path)
  }

  add (path: Location, value: unknown): void {
    const { last } = path
    if (last === undefined) {
      this.document = value
      return
    }
    const parent = this.#parent(path)
    if (!Array.isArray(parent)) parent[last] = value
    else if (last === '-') parent.push(value)
    else parent.splice(this.#shift(position(last, parent.length + 1, path), parent, path), 0, value)
  }

  remove (path: Location): unknown {
    const { last } = path
    if (last === undefined) throw inapplicable(path, 'The whole document cannot be removed.')
    const parent = this.#parent(path)
    const removed = member(parent, last, path)
    if (Array.isArray(parent)) parent.splice(this.#shift(Number(last), parent, path), 1)
    else delete parent[last]
    return removed
  }

  #shift (index: number, array: readonly unknown[], path: Location): number {
    this.#shifted += array.length - index
    if (this.#shifted > mostShifted) throw inapplicable(path, 'The operations shift too much.')
    return index
  }

  replace (path: Location, value: unknown): void {
    const { last } = path
    if (last === undefined) {
      this.document = value
      return
    }
    const parent = this.#parent(path)
    member(parent, last, path)
    put(parent, last, value)
  }

  /** One of its own, so that a later change of the one does not change the other. */
  copy (from: Location): unknown {
    return this.#clone(this.get(from), from, deepest)
  }

  #clone (value: unknown, from: Location, levels: number): unknown {
    this.#copied += typeof value === 'string' ? value.length : 1
    if (this.#copied > mostCopied) throw inapplicable(from, 'The operations copy too much.')
    if (typeof value !== 'object' || value === null) return value
    if (levels === 0) throw inapplicable(from, `The value is nested deeper than ${deepest} levels.`)
    if (Array.isArray(value)) return value.map(member => this.#clone(member, from, levels - 1))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.#clone(member, from, levels - 1)]))
  }

  /** What holds the value, after all on the way to it has been made the draft's own. */
  #parent (path: Location): Container {
    let parent = this.#writable(this.document, path)
    this.document = parent
    for (const segment of path.parents) {
      const next = this.#writable(member(parent, segment, path), path)
      put(parent, segment, next)
      parent = next
    }
    return parent
  }

  #writable (value: unknown, path: Location): Container {
    const original = container(value, path)
    if (this.#own.has(original)) return original
    const copy = Array.isArray(original) ? original.slice() : { ...original }
    this.#own.add(copy)
    return copy
  }
}

function container (value: unknown, path: Location): Container {
  if (typeof value !== 'object' || value === null) throw inapplicable(path, 'There is no array or object at the parent of the location.')
  // An object that came from JSON has members only.
  return value as Container
}

function member (container: Container, segment: string, path: Location): unknown {
  if (Array.isArray(container)) return container[position(segment, container.length, path)]
  if (!Object.hasOwn(container, segment)) throw inapplicable(path, 'There is no such member.')
  return container[segment]
}

function put (container: Container, segment: string, value: unknown): void {
  if (Array.isArray(container)) container[Number(segment)] = value
  else container[segment] = value
}

// RFC 6901 §4: no leading zeros.
function position (segment: string, end: number, path: Location): number {
  const index = /^(?:0|[1-9][0-9]*)$/.test(segment) ? Number(segment) : end
  if (index >= end) throw inapplicable(path, 'There is no such index.')
  return index
}

function inapplicable ({ pointer, index }: Location, detail: string): PatchRefusal {
  return new PatchRefusal({ kind: 'inapplicable', detail, index, pointer })
}

import { toPointer } from '../../http/json-pointer.ts'
import { isObject } from '../../http/json-value.ts'
import type { JsonObject } from '../../http/json-value.ts'
import { problem } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'
import { maxFailures } from '../../schema/failures.ts'
import type { Failure } from '../../schema/failures.ts'
import { parsePath } from './path-template.ts'
import type { PathTemplate } from './path-template.ts'
import { idPattern, parseReference, parseTarget } from './references.ts'
import type { ContentReference } from './references.ts'

// The content of a batch: an array of parts.

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export type PartMethod = typeof methods[number]

/** One operation of a batch, as the client sent it. */
export interface Part {
  readonly index: number
  readonly id: string | undefined
  readonly method: PartMethod
  readonly path: PathTemplate
  /** Undefined if the part has none. */
  readonly content: unknown
  readonly references: readonly ContentReference[]
  /** Its preconditions, by the names of the headers. */
  readonly headers: Readonly<Record<string, string>>
}

const propertyNames = ['id', 'method', 'path', 'content', 'refs', 'ifMatch', 'ifNoneMatch']

/** Parses the parts of a batch. A problem lists everything that is invalid, each with its place. */
export function parseParts (content: unknown, maximum: number): readonly Part[] | Problem {
  if (!Array.isArray(content)) return invalidBatch([{ pointer: '', message: 'must be an array of parts' }])
  if (content.length === 0 || content.length > maximum) {
    return invalidBatch([{ pointer: '', message: `must have from 1 to ${maximum} parts` }])
  }
  const parser = new PartParser()
  const parts = content.map((given: unknown, index) => parser.parse(given, index))
  return parser.failures.length > 0 ? invalidBatch(parser.failures) : parts
}

export function invalidBatch (errors: readonly Failure[]): Problem {
  return problem('validation-failed', {
    detail: 'The batch is invalid. Nothing was written.',
    properties: { errors }
  })
}

class PartParser {
  readonly failures: Failure[] = []
  /** The indexes of the parts so far, by their ids. */
  readonly #ids = new Map<string, number>()

  parse (given: unknown, index: number): Part {
    const part = isObject(given) ? given : {}
    if (part !== given) this.#fail([index], 'must be an object')
    const unknown = Object.keys(part).find((name) => !propertyNames.includes(name))
    if (unknown !== undefined) {
      this.#fail([index, unknown], `is not a known property. A part can have: ${propertyNames.join(', ')}.`)
    }
    const method = this.#parseMethod(part, index)
    const parsed = {
      index,
      method,
      path: this.#parsePath(part, index),
      content: this.#parseContent(part, index, method),
      references: this.#parseReferences(part, index, method),
      headers: {
        ...this.#parseTags(part, index, 'ifMatch', 'if-match'),
        ...this.#parseTags(part, index, 'ifNoneMatch', 'if-none-match')
      }
    }
    // Last, so that a part cannot refer to itself.
    return { ...parsed, id: this.#parseId(part, index) }
  }

  #parseId ({ id }: JsonObject, index: number): string | undefined {
    if (id === undefined) return undefined
    if (typeof id !== 'string' || !idPattern.test(id)) {
      return this.#fail([index, 'id'], 'must be a string of 1 to 64 letters, digits, - and _')
    }
    const other = this.#ids.get(id)
    if (other !== undefined) return this.#fail([index, 'id'], `is the id of part ${other} as well`)
    this.#ids.set(id, index)
    return id
  }

  #parseMethod ({ method }: JsonObject, index: number): PartMethod {
    const known = methods.find((name) => name === method)
    if (known === undefined) this.#fail([index, 'method'], `must be one of ${methods.join(', ')}`)
    return known ?? 'GET'
  }

  #parsePath ({ path }: JsonObject, index: number): PathTemplate {
    const parsed = typeof path === 'string' ? parsePath(path, this.#ids) : 'must be a string'
    if (typeof parsed !== 'string') return parsed
    this.#fail([index, 'path'], parsed)
    return noPath
  }

  #parseContent ({ content }: JsonObject, index: number, method: PartMethod): unknown {
    const hasNone = method === 'GET' || method === 'DELETE'
    if (hasNone && content !== undefined) this.#fail([index, 'content'], `is not possible with ${method}`)
    return content
  }

  #parseReferences ({ refs }: JsonObject, index: number, method: PartMethod): readonly ContentReference[] {
    if (refs === undefined) return []
    if (!isObject(refs)) {
      this.#fail([index, 'refs'], 'must be an object with JSON Pointers as names')
      return []
    }
    if (method === 'GET' || method === 'DELETE') this.#fail([index, 'refs'], `is not possible with ${method}`)
    return Object.entries(refs).flatMap(([name, value]) => {
      const at = [index, 'refs', name]
      const target = parseTarget(name)
      const source = typeof value === 'string' ? parseReference(value, this.#ids) : 'must be a string'
      if (typeof target === 'string') this.#fail(at, target)
      else if (typeof source === 'string') this.#fail(at, source)
      else return [{ target, source }]
      return []
    })
  }

  #parseTags (part: JsonObject, index: number, name: string, field: string): Record<string, string> {
    const value = part[name]
    if (value === undefined) return {}
    if (typeof value === 'string') return { [field]: value }
    this.#fail([index, name], 'must be a string: an entity tag with its quotation marks, several, or *')
    return {}
  }

  #fail (at: ReadonlyArray<string | number>, message: string): undefined {
    if (this.failures.length < maxFailures) this.failures.push({ pointer: toPointer(at), message })
  }
}

/** For a part that is refused. */
const noPath = parsePath('/', new Map()) as PathTemplate

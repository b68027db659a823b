import { unescape } from 'node:querystring'
import { checkEncoding } from '../../query/check-query.ts'
import { hasNamesAsValue } from '../../query/parse.ts'
import { parseReference } from './references.ts'
import type { Reference } from './references.ts'

// The path of a part: `/orders/{o#/id}/submit?fields=id`. What is in braces is the result of an earlier part.

/** In characters, as for query strings. */
const maxLength = 8192

/** A mark that no path contains: the characters of a URI are visible ASCII. */
const mark = '\0'
const markPattern = new RegExp(`${mark}(\\d+)${mark}`, 'g')
const invalidInPath = /[^\x21-\x7e]|#/
const braces = /\{([^{}]*)\}/g

/** A path whose references are not resolved yet. */
export class PathTemplate {
  readonly references: readonly Reference[]
  /** The segments, without the empty one before the first slash. */
  readonly segments: readonly string[]
  readonly #search: string

  constructor (path: string, search: string, references: readonly Reference[]) {
    this.segments = path.slice(1).split('/')
    this.#search = search
    this.references = references
  }

  get hasQuery (): boolean {
    return this.#search !== ''
  }

  /** Whether a segment is known only when an earlier part is done. */
  isOpen (segment: string): boolean {
    return segment.includes(mark)
  }

  /** The names of the parameters whose values are known only when an earlier part is done. */
  get openParameters (): readonly string[] {
    return splitParameters(this.#search).flatMap(({ name, value }) => value.includes(mark) ? [unescape(name)] : [])
  }

  /** Returns the path with the values of the references. */
  resolve (values: readonly string[]): ResolvedPath {
    const fill = (text: string): string => {
      return text.replace(markPattern, (_match, index: string) => encodeURIComponent(values[Number(index)]!))
    }
    const segments = this.segments.map(fill)
    return { path: `/${segments.join('/')}`, segments: segments.map(decodeURIComponent), search: fill(this.#search) }
  }
}

export interface ResolvedPath {
  /** Percent-encoded, without the query string. */
  readonly path: string
  /** Decoded. */
  readonly segments: readonly string[]
  /** The query string, without the question mark. */
  readonly search: string
}

/** Parses the path of a part. `ids` are those of the earlier parts. Returns the mistake as a text. */
export function parsePath (text: string, ids: ReadonlyMap<string, number>): PathTemplate | string {
  if (text.length > maxLength) return `is longer than ${maxLength} characters`
  const references: Reference[] = []
  let mistake: string | undefined
  const marked = text.replace(braces, (_match, inner: string) => {
    const reference = parseReference(inner, ids)
    if (typeof reference === 'string') mistake ??= `${JSON.stringify(inner)} ${reference}`
    else references.push(reference)
    return `${mark}${references.length - 1}${mark}`
  })
  if (mistake !== undefined) return mistake
  const rest = marked.replace(markPattern, '')
  if (!marked.startsWith('/')) return 'must begin with a slash, such as "/orders"'
  if (invalidInPath.test(rest) || /[{}]/.test(rest)) {
    return 'has a character that must be percent-encoded. Braces are for references, such as {o#/id}'
  }
  const question = marked.indexOf('?')
  const path = question < 0 ? marked : marked.slice(0, question)
  const search = question < 0 ? '' : marked.slice(question + 1)
  if (checkEncoding(path) !== undefined || checkEncoding(search) !== undefined) {
    return 'must be percent-encoded UTF-8. A percent sign itself is %25'
  }
  if (splitParameters(search).some(({ name }) => name.includes(mark))) {
    return 'has a reference in the name of a parameter. References are segments of the path, or values: ?id={o#/id}'
  }
  const template = new PathTemplate(path, search, references)
  // The names in a query decide which rules are called, and they are called before any part runs.
  const wrong = template.openParameters.find(hasNamesAsValue)
  if (wrong === undefined) return template
  return `has a reference in ${JSON.stringify(wrong)}, which contains names of properties or relations`
}

/** Percent-encoded, as `node:querystring` splits them. */
function splitParameters (search: string): ReadonlyArray<{ readonly name: string, readonly value: string }> {
  return search.split('&').map((parameter) => {
    const equals = parameter.indexOf('=')
    if (equals < 0) return { name: parameter, value: '' }
    return { name: parameter.slice(0, equals), value: parameter.slice(equals + 1) }
  })
}

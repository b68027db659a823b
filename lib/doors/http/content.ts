import { Malformed } from '../../formats/format.ts'
import type { Format } from '../../formats/format.ts'
import { Problem, problem } from '../../http/problems.ts'
import type { ParsedContent } from '../../engine/operation.ts'
import type { HttpRequest } from './request.ts'
import type { JsonSchema } from '../../storage/contract.ts'

/** Returns the media types that POST and PUT accept. */
export function getRepresentationTypes (formats: readonly Format[]): readonly string[] {
  return formats.filter((format) => format.parse !== undefined).map((format) => format.mediaType)
}

/** Parses the representation that the client sent, in the format of Content-Type: RFC 9110, section 8.3. */
export function readContent (request: HttpRequest): ParsedContent | Problem {
  const { http: { formats }, schema } = request.collection
  const content = parseContent(request, findParser(formats, request.mediaType), schema)
  return content instanceof Problem ? content : request.access.view.type.checkHidden(content.value) ?? content
}

/** Parses the input of a custom action. A request without content is one with an empty object. */
export function readInput (request: HttpRequest): ParsedContent | Problem {
  const { collection: { http: { formats } }, action } = request
  if (request.content === undefined || request.content.length === 0) return { value: {} }
  return parseContent(request, findParser(formats, request.mediaType), action.custom!.input)
}

type Parse = NonNullable<Format['parse']>

function findParser (formats: readonly Format[], type: string | undefined): Parse | undefined {
  for (const { mediaType, parse } of formats) {
    if (mediaType === type && parse !== undefined) return parse
  }
  return undefined
}

export function parseContent (
  request: Pick<HttpRequest, 'content'>,
  parse: Parse | undefined,
  schema: JsonSchema
): ParsedContent | Problem {
  if (request.content === undefined) return problem('malformed-content', { detail: 'The request has no content.' })
  try {
    return { value: parse?.(request.content, schema) }
  } catch (thrown) {
    if (thrown instanceof Malformed) return problem('malformed-content', { detail: thrown.detail })
    throw thrown
  }
}

import type { Collection } from './definition.ts'
import { Malformed } from './formats/format.ts'
import type { Format } from './formats/format.ts'
import { mediaType } from './http/content-type.ts'
import { problem } from './http/problems.ts'
import type { Request } from './request.ts'
import type { JsonSchema } from './storage/contract.ts'
import { refuseHidden } from './visibility.ts'

/** The media types of representations that POST and PUT take. */
export function representationTypes (collection: Collection): readonly string[] {
  return collection.formats.filter(format => format.parse !== undefined).map(format => format.mediaType)
}

/** The representation that the client sent, as it is; RFC 9110 section 8.3 names its format. */
export function readContent (collection: Collection, request: Request): unknown {
  const value = parsed(request, parserOf(collection, mediaType(request.fields['content-type'])), collection.schema)
  refuseHidden(collection, value)
  return value
}

type Parse = NonNullable<Format['parse']>

function parserOf ({ formats }: Collection, type: string | undefined): Parse | undefined {
  for (const { mediaType, parse } of formats) if (mediaType === type && parse !== undefined) return parse
  return undefined
}

export function parsed (request: Request, parse: Parse | undefined, schema: JsonSchema): unknown {
  if (request.content === undefined) throw problem('malformed', { detail: 'The request needs content, and has none.' })
  try {
    return parse?.(request.content, schema)
  } catch (thrown) {
    if (thrown instanceof Malformed) throw problem('malformed', { detail: thrown.detail })
    throw thrown
  }
}

import { parse } from 'node:querystring'
import type { FastifyRequest } from 'fastify'
import { problem } from '../../http/problems.ts'
import type { Part } from './parts.ts'
import type { ResolvedPath } from './path-template.ts'
import type { Target } from './targets.ts'

/** What a part is about, when its references are resolved. */
interface Address extends ResolvedPath {
  readonly parameters: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
}

/** Returns the address of a part with the values of the references in its path. */
export function resolveAddress (
  { path }: Pick<Part, 'path'>,
  { getParameters }: Target,
  values: readonly string[]
): Address {
  const resolved = path.resolve(values)
  const query = resolved.search === '' ? {} : parse(resolved.search, '&', '=', { maxKeys: 0 })
  return { ...resolved, parameters: getParameters(resolved), query }
}

/**
 * The request that rules and hooks get for a part: that of the batch, with the method and the URI of the part. A rule
 * that reads the URI while a reference in it is not resolved is refused: it must not decide about another item.
 */
export class PartRequest {
  readonly request: FastifyRequest
  #address: Address | undefined

  constructor (original: FastifyRequest, part: Part, target: Target) {
    const read = <Value>(get: (address: Address) => Value): PropertyDescriptor => ({
      get: () => {
        if (this.#address !== undefined) return get(this.#address)
        throw problem('bad-request', {
          detail: 'The rules of this collection depend on the URI, so the path cannot have references. ' +
            'Send this part as a request of its own.'
        })
      }
    })
    const url = read(({ path, search }) => search === '' ? path : `${path}?${search}`)
    this.request = Object.create(original, {
      method: { value: part.method },
      url,
      originalUrl: url,
      params: read(({ parameters }) => parameters),
      query: read(({ query }) => query),
      // That of the batch has the content of all parts.
      body: { value: undefined }
    }) as FastifyRequest
    if (part.path.references.length === 0) this.#address = resolveAddress(part, target, [])
  }

  get address (): Address {
    return this.#address!
  }

  set address (address: Address) {
    this.#address = address
  }
}

import type { onSendHookHandler } from 'fastify'
import type { Collection } from './definition.ts'
import { vary } from './http/vary.ts'

/** What every answer of a collection says, whoever has decided it: errors of hooks, 304 and OPTIONS too. Undefined where there is nothing to say. */
export function notice ({ deprecation, routes }: Pick<Collection, 'deprecation' | 'routes'>): onSendHookHandler | undefined {
  // RFC 9110 section 12.5.5: Fastify chooses the route by this field, and tells nobody.
  const versioned = Object.values(routes).some(({ constraints }) => constraints?.version !== undefined)
  if (deprecation === undefined && !versioned) return undefined
  const { link, ...fields } = { link: undefined, ...deprecation }
  return function (_request, reply, payload, done) {
    reply.headers(fields)
    if (link !== undefined) reply.header('link', joined(reply.getHeader('link'), link))
    if (versioned) reply.header('vary', vary(textOf(reply.getHeader('vary')), 'Accept-Version'))
    done(null, payload)
  }
}

type Present = number | string | string[] | undefined

/** Several lines of one field are an array. */
function textOf (present: Present): string {
  return [present ?? []].flat().join(', ')
}

/** Once, also where a hook behind this one has failed and another answer goes the same way. */
function joined (present: Present, link: string): string {
  const known = textOf(present)
  if (known === '') return link
  return known.includes(link) ? known : `${known}, ${link}`
}

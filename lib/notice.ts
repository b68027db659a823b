import type { onSendHookHandler } from 'fastify'
import type { Collection } from './definition.ts'

/** What every answer of a collection says, whoever has decided it: errors of hooks, 304 and OPTIONS too. Undefined where there is nothing to say. */
export function notice ({ deprecation }: Pick<Collection, 'deprecation'>): onSendHookHandler | undefined {
  if (deprecation === undefined) return undefined
  const { link, ...fields } = deprecation
  return function (_request, reply, payload, done) {
    reply.headers(fields)
    if (link !== undefined) reply.header('link', joined(reply.getHeader('link'), link))
    done(null, payload)
  }
}

/** Once, also where a hook behind this one has failed and another answer goes the same way. Several lines of one field are an array. */
function joined (present: number | string | string[] | undefined, link: string): string {
  const known = [present ?? []].flat().join(', ')
  if (known === '') return link
  return known.includes(link) ? known : `${known}, ${link}`
}

import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { refuseMethod } from '../admission.ts'
import { hidden } from '../description.ts'
import { BadService } from '../errors.ts'
import { negotiate } from '../http/accept.ts'
import { allow } from '../http/allow.ts'
import { entityTag } from '../http/entity-tag.ts'
import { link } from '../http/link.ts'
import type { LinkValue } from '../http/link.ts'
import { evaluate } from '../http/preconditions.ts'
import { problem } from '../http/problems.ts'
import { refuse, send } from './reply.ts'

// What is the same for everybody until the app starts anew: GET, HEAD and OPTIONS of it, 405 for the rest.

export interface Document {
  readonly path: string
  /** The favourite first; the content is the same in each. */
  readonly mediaTypes: readonly string[]
  /** Asked for once, when the app is ready. */
  readonly write: () => string
  readonly links: () => readonly LinkValue[]
}

interface Written {
  readonly content: string
  readonly hash: string
  readonly links: string
}

function once (document: Document): Written {
  const content = document.write()
  return { content, hash: createHash('sha256').update(content).digest('base64url'), links: link(document.links()) }
}

const methods: HTTPMethods[] = ['GET', 'HEAD', 'OPTIONS']

export function serveDocument (app: FastifyInstance, document: Document, problems: string | undefined): void {
  const { path, mediaTypes } = document
  if (app.hasRoute({ method: 'GET', url: path })) throw new BadService(`another route serves GET ${path} already. Take that away, or give the service another path, or false`)
  let written: Written | undefined
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const type = negotiate(request.headers.accept, mediaTypes)
    if (type === undefined) return refuse(problem('not-acceptable', { members: { available: mediaTypes } }), { request, reply, problems })
    written ??= once(document)
    const etag = entityTag(`${written.hash}.${mediaTypes.indexOf(type)}`)
    const fields = { etag, 'cache-control': 'no-cache', ...written.links !== '' && { link: written.links } }
    const outcome = evaluate({ safe: true, fields: request.headers, current: { tags: [etag], modified: undefined } })
    if (outcome === 'failed') return refuse(problem('stale'), { request, reply, problems })
    if (outcome === 'not modified') return send({ status: 304, fields, content: undefined }, { request, reply })
    return send({ status: 200, fields: { ...fields, 'content-type': type }, content: written.content }, { request, reply })
  }
  const allowed = allow(methods)
  app.route({ method: ['GET', 'HEAD'], url: path, exposeHeadRoute: false, schema: hidden, handler: async (request, reply) => answer(request, reply) })
  app.route({ method: 'OPTIONS', url: path, schema: hidden, handler: async (request, reply) => send({ status: 204, fields: { allow: allowed, 'cache-control': 'no-store' }, content: undefined }, { request, reply }) })
  const others = (app.supportedMethods as HTTPMethods[]).filter(method => !methods.includes(method))
  app.route({ method: others, url: path, schema: hidden, onRequest: refuseMethod(allowed), handler: async (_request, reply) => reply })
}

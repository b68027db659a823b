import sensible from '@fastify/sensible'
import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { tagCodings } from './response/content-coding.ts'
import { representationTypes } from './request/content.ts'
import { toCollection } from './collection.ts'
import type { Definition } from './collection.ts'
import { NoDefinition } from './errors.ts'
import { errorHandler } from './handler.ts'
import { intake } from './request/body.ts'
import { varyByVersion } from './response/vary-by-version.ts'
import { patchTypes } from './items/patch.ts'
import { tellQuotas } from './response/rate-limit.ts'
import { enrol, registered } from './registry.ts'
import { routes } from './routes.ts'
import { checkStorages } from './storage-check.ts'

/**
 * The plugin: serves the routes of one collection. Register it once for each.
 *
 * @example
 * await app.register(collection, define({ name: 'users', schema: User, storage: memory() }))
 * await app.register(collection, { ...articles, prefix: '/v1' })
 */
async function collection (app: FastifyInstance, given: Definition): Promise<void> {
  const definition = toCollection(given)
  if (definition?.storage === undefined || definition.schemas === undefined) throw new NoDefinition()
  // Of our own, and encapsulated: twice on one instance it would end the process.
  await app.register(sensible)
  app.setErrorHandler(errorHandler(definition))
  // Content is read by the actions, after the preconditions; schemas of routes are for documentation alone.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...new Set(['*', ...representationTypes(definition), ...patchTypes])], intake(app))
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  app.addHook('onRoute', tagCodings)
  varyByVersion(app, definition)
  for (const plugin of definition.attached.plugins) await plugin(app)
  tellQuotas(app)
  // Once for all collections of the app, when all of them are registered.
  if (registered(app).length === 0) app.addHook('onReady', () => checkStorages(app))
  const openapi = app.hasDecorator('swagger') ? await import('./openapi/description.ts') : undefined
  routes(app, enrol(app, definition), openapi?.completing)
}

const plugin = fastifyPlugin(collection, { name: 'fastify-collections', fastify: '5.x', encapsulate: true })

export default plugin
export { plugin as collection }
export { permitted } from './access/access.ts'
export { corsOptions } from './service/cors.ts'
export { define, defineWith } from './define.ts'
export type { Defaults } from './define.ts'
export type { Definition } from './collection.ts'
export { Malformed } from './formats/format.ts'
export type { About, Content, Format, Link, Links, ListLinks, Offer } from './formats/format.ts'
export type { Feature, Host } from './features/feature.ts'
export type { Access, Authentication, Predicate, RowScope, Rule, Scoping, Verdict, Visibility } from './access/guard.ts'
export { json } from './formats/json.ts'
export { problem, Problem } from './http/problems.ts'
export type { ProblemDetails, ProblemName } from './http/problems.ts'
export type { ActionName, Change, Changed, Options, RouteOptions } from './options.ts'
export { registry } from './registry.ts'
export type { Registered } from './registry.ts'
export type { Adapter, Context, Draft, Entry, Filter, Id, Order, Page, Position, Query, Receipt, Receipts, Refusal, Shape, Storage, Supports, Unreachable, Version } from './storage/contract.ts'

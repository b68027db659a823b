import sensible from '@fastify/sensible'
import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { handleContentCoding } from './doors/http/content-coding.ts'
import { keepCookiesPrivate } from './doors/http/cookies.ts'
import { getRepresentationTypes } from './doors/http/content.ts'
import { toCollection } from './engine/collection.ts'
import type { Definition } from './engine/collection.ts'
import { NoDefinition } from './errors/errors.ts'
import { createErrorConverter, createErrorHandler } from './doors/http/handler.ts'
import { createBodyReader } from './doors/http/body.ts'
import { varyByVersion } from './doors/http/vary-by-version.ts'
import { patchTypes } from './http/patch-types.ts'
import { openCollection } from './doors/code/open-collection.ts'
import { registerCollection, getRegistered, runAppChecks } from './engine/registry.ts'
import { addRoutes } from './doors/http/routes.ts'
import { checkStorages } from './define/storage-check.ts'

/**
 * The plugin: serves the routes of one collection. Register it once for each.
 *
 * @example
 * await app.register(collection, define({ name: 'users', schema: User, storage: memory() }))
 * await app.register(collection, { ...articles, prefix: '/v1' })
 */
async function collection (app: FastifyInstance, given: Definition): Promise<void> {
  const definition = toCollection(given)
  if (definition?.storage === undefined || definition.type === undefined) {
    throw new NoDefinition(
      'register(collection, ...)',
      'Use register(collection, define({ name, schema, storage })), ' +
        'or { ...definition, prefix } to add register options of Fastify.'
    )
  }
  // Once for all collections of the app, when all of them are registered.
  if (getRegistered(app).length === 0) {
    app.addHook('onReady', async () => {
      runAppChecks(app)
      await checkStorages(app)
    })
  }
  const served = registerCollection(app, definition, openCollection)
  warnOfRepeatedName(app.prefix, served.name)
  // Registered in the context of the collection, because it cannot be registered twice on one instance.
  await app.register(sensible)
  app.setErrorHandler(createErrorHandler(served))
  app.addHook('preSerialization', createErrorConverter(served))
  // Actions read the content after the preconditions; the schemas of routes are only used for documentation.
  app.removeAllContentTypeParsers()
  const types = new Set(['*', ...getRepresentationTypes(served.http.formats), ...patchTypes])
  app.addContentTypeParser([...types], createBodyReader(app))
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  handleContentCoding(app)
  keepCookiesPrivate(app)
  varyByVersion(app, served.http)
  for (const plugin of served.attached.plugins) await plugin(app)
  const openapi = app.hasDecorator('swagger') ? await import('./openapi/description.ts') : undefined
  addRoutes(app, served, openapi?.createSwaggerConfig)
}

/** A folder of @fastify/autoload is a prefix, so that `routes/users/index.ts` serves `users` at `/users/users`. */
function warnOfRepeatedName (prefix: string, name: string): void {
  if (!prefix.endsWith(`/${name}`)) return
  process.emitWarning(
    `Collection ${name}: it is served at ${prefix}/${name}, because the prefix ends with its name as well. ` +
      'Remove the name from the prefix. With @fastify/autoload, where each folder is a prefix, ' +
      `rename ${name}/index to ${name}, or export autoPrefix = '' there.`,
    { type: 'FastifyCollectionsWarning', code: 'FST_COLLECTION_REPEATED_NAME' }
  )
}

/**
 * The plugin that serves a collection: `GET`, `POST`, `PUT`, `PATCH` and `DELETE`, with the rules of its definition.
 *
 * @example
 * await app.register(collection, define({ name: 'users', schema: User, storage: memory() }))
 */
const plugin = fastifyPlugin(collection, { name: 'fastify-collections', fastify: '5.x', encapsulate: true })

export default plugin
export { allowedActions } from './engine/access/evaluate.ts'
export { corsOptions } from './app/cors.ts'
export type { CorsOptions } from './app/cors.ts'
export { define, defineWith } from './define/define.ts'
export type { Defaults } from './define/define.ts'
export type {
  CallOptions,
  CallQuery,
  CollectionCalls,
  Entry,
  ManyQuery,
  MatchedItems,
  PageOfEntries,
  WriteCallOptions
} from './engine/call-types.ts'
export type { CallFilter } from './engine/filter-types.ts'
export type { Definition } from './engine/collection.ts'
export type * from './engine/access/caller.ts'
export type {
  AccessContext,
  AccessOptions,
  AllowFunction,
  Authenticate,
  RowScope,
  Rule,
  ScopeFunction,
  Verdict,
  VisibleFunction
} from './engine/access/rules.ts'
export { json } from './formats/json.ts'
export { problem, Problem } from './http/problems.ts'
export type { ProblemDetails, ProblemName } from './http/problems.ts'
export type {
  ActionName,
  AnyActionName,
  Change,
  CommittedChange,
  EtagOptions,
  HookOptions,
  LimitOptions,
  ListOptions,
  LockedItems,
  Options,
  PendingWrite,
  PutOptions,
  RouteOptions,
  StoredWrite,
  Transaction
} from './engine/definition.ts'
export { ProblemError } from './errors/failure.ts'
export type { ActionEvent } from './doors/http/trace-action.ts'
export { schemaSql } from './define/schema-sql.ts'
export type { ItemOf, ObjectSchema } from './schema/static.ts'
export { TransactionError } from './engine/transaction.ts'
// The types of what other entries return, so that an app can export it.
export type { Feature } from './engine/feature.ts'
export type { Adapter, Id, StatementEvent } from './storage/contract.ts'

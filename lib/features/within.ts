import { checkHooks } from '../access/check-hooks.ts'
import { checkCache, dependsOnCaller } from '../access/rules.ts'
import { isDefinition, toCollection } from '../collection.ts'
import type { Definition } from '../collection.ts'
import { getStatedPolicy } from '../http/cache-control.ts'
import type { Feature, FeatureProperty } from './feature.ts'

/**
 * Serves a collection within the items of another one: `/users/{id}/articles`. The URL sets the property of an article
 * that holds the id of its user; articles of other users do not exist there.
 *
 * @example
 * await app.register(collection, users)
 * await app.register(collection, articles.with(within(users, 'authorId')))
 */
export function within<Item extends object = Record<string, unknown>> (
  definition: Definition,
  property: FeatureProperty<NoInfer<Item>>
): Feature<Item> {
  return {
    name: 'within',
    setup (host) {
      if (!isDefinition(definition)) {
        host.fail('within() needs the parent collection that define() returned. ' +
          'Pass it, as in within(users, \'userId\').')
      }
      const parent = toCollection(definition)
      const { name, schema, http } = host.collection
      const properties = Object.keys(schema.properties)
      if (!properties.includes(property)) {
        host.fail(`within() names the property "${property}", which is not in the schema. ` +
          `Available properties: ${properties.join(', ')}.`)
      }
      const { attached: { parent: outer } } = parent
      if (outer !== undefined) {
        host.fail(`within() names ${parent.name}, which is nested in ${outer.collection.name} itself. ` +
          `The rules of ${outer.collection.name} would not apply. If the access of ${parent.name} alone decides who ` +
          `may read its items, pass the definition of ${parent.name} that has no within().`)
      }
      host.require('filter', 'within() needs filters')
      if (dependsOnCaller(parent.access, 'read')) {
        for (const action of ['list', 'read'] as const) checkCache(name, action, getStatedPolicy(http.cache[action]))
      }
      checkHooks(host.collection, parent, { what: 'within()', action: 'read' })
      host.nestIn(parent, property)
    }
  }
}

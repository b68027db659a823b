import { checkHooks } from '../engine/access/check-hooks.ts'
import { checkCache, dependsOnCaller } from '../engine/access/rules.ts'
import { isDefinition, toCollection } from '../engine/collection.ts'
import type { Collection, Definition } from '../engine/collection.ts'
import { formatValue } from '../errors/format-value.ts'
import { getStatedPolicy } from '../http/cache-control.ts'
import type { Feature, FeatureProperty, Host } from '../engine/feature.ts'

/**
 * Serves a collection within the items of another one: `/users/{id}/articles`. The URL sets the property of an article
 * that holds the id of its user; articles of other users do not exist there. After `relate()`, the name of the relation
 * to the user says both.
 *
 * @example
 * await app.register(collection, users)
 * await app.register(collection, articles.with(within(users, 'authorId')))
 * // After relate(), with the relation author: { to: 'users', property: 'authorId' }
 * await app.register(collection, articles.with(within('author')))
 */
export function within<Item extends object = Record<string, unknown>> (relation: string): Feature<Item>
export function within<Item extends object = Record<string, unknown>> (
  definition: Definition,
  property: FeatureProperty<NoInfer<Item>>
): Feature<Item>
export function within (given: Definition | string, givenProperty?: string): Feature<never> {
  return {
    name: 'within',
    setup (host) {
      const { parent, property } = typeof given === 'string'
        ? readRelation(host, given, givenProperty)
        : readDefinition(host, given, givenProperty)
      const { name, http } = host.collection
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

interface Place {
  readonly parent: Collection
  readonly property: string
}

function readDefinition (host: Host, definition: Definition, property: string | undefined): Place {
  if (!isDefinition(definition)) {
    host.fail('within() needs the parent collection that define() returned, or the name of a relation to it. ' +
      'Pass it, as in within(users, \'userId\') or within(\'user\').')
  }
  const properties = Object.keys(host.collection.schema.properties)
  if (property === undefined || !properties.includes(property)) {
    host.fail(`within() names the property "${property}", which is not in the schema. ` +
      `Available properties: ${properties.join(', ')}.`)
  }
  return { parent: toCollection(definition), property }
}

/** A relation to one item has the parent and the property. */
function readRelation (host: Host, name: string, property: string | undefined): Place {
  // The feature of relate() comes first in the order of names.
  const { relations } = host.attached
  const relation = relations.get(name)
  if (relation === undefined || relation.isMany) {
    const known = [...relations.values()].filter(({ isMany }) => !isMany).map(({ name }) => name)
    host.fail(`within() names the relation ${formatValue(name)}, but the definition has ` +
      `${known.length === 0 ? 'none' : `only ${known.join(', ')}`} to one item. ` +
      'Add the feature to what relate() returns, or pass the parent and the property: within(users, \'userId\').')
  }
  if (property !== undefined) {
    host.fail(`within(${formatValue(name)}) takes no property: the relation has it. Remove ${formatValue(property)}.`)
  }
  return { parent: relation.target, property: relation.property }
}

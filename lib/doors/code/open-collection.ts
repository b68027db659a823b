import type { FastifyInstance } from 'fastify'
import type { CollectionCalls } from '../../engine/call-types.ts'
import { isDefinition, toCollection } from '../../engine/collection.ts'
import type { Definition } from '../../engine/collection.ts'
import type { Transaction } from '../../engine/definition.ts'
import { getRegistered } from '../../engine/registry.ts'
import { NoDefinition, NotRegistered } from '../../errors/errors.ts'
import { formatValue } from '../../errors/format-value.ts'
import { createCalls } from './calls.ts'

/** Returns the methods to call a collection of the app from code. */
export function openCollection<Item extends object, Adds> (
  app: FastifyInstance,
  definition: Definition<Item, Adds>,
  transaction?: Transaction
): CollectionCalls<Item, Adds> {
  if (!isDefinition(definition)) {
    const hint = `Pass the definition, as in app.collection(users), not ${formatValue(definition)}.`
    throw new NoDefinition('collection()', hint)
  }
  const { attached, name } = toCollection(definition)
  return createCalls<Item, Adds>({
    name,
    log: app.log,
    transaction,
    hasRelations: attached.relations.size > 0,
    actions: attached.actions,
    bulk: attached.bulk,
    aggregate: attached.aggregate,
    findCollection () {
      // The definition may have been copied to add register options. Its features are the same object.
      const served = getRegistered(app).find(({ collection }) => collection.attached === attached)
      if (served === undefined) throw new NotRegistered(name)
      return served.collection
    }
  })
}

import type { Collection } from '../engine/collection.ts'
import { BadOption } from '../errors/errors.ts'
import type { Feature } from '../engine/feature.ts'
import type { ServedCollection } from '../engine/registry.ts'

/** A definition that `relate()` got, and the feature that the definition has that it returned. */
export interface RelatedDefinition {
  readonly defined: Collection
  readonly feature: Feature<object>
  /** What its relations lead to. */
  readonly targets: readonly Collection[]
  /** Whether it is one end of a reference. */
  readonly isReferring: boolean
}

/** Checks that an app serves what one call of `relate()` returned, not what it got. */
export function checkServed (registered: readonly ServedCollection[], related: readonly RelatedDefinition[]): void {
  const served = registered.map(({ collection }) => collection)
  const features = new Set<object>(related.map(({ feature }) => feature))
  const others = served.filter((collection) => !collection.features.some((feature) => features.has(feature)))
  if (others.length < served.length) checkWriters(served, related.filter(({ isReferring }) => isReferring))
  for (const definition of related) {
    const unrelated = findUnrelated(definition, served, others)
    if (unrelated !== undefined) warnOfMissingRelations(unrelated.name, definition.isReferring)
  }
}

/**
 * Finds the collection that is served without its relations, although they lead to collections of the app. It is no
 * mistake if another call of `relate()` has related it.
 */
function findUnrelated (
  { defined: { baseStorage }, feature, targets }: RelatedDefinition,
  served: readonly Collection[],
  others: readonly Collection[]
): Collection | undefined {
  const variants = served.filter((collection) => collection.baseStorage === baseStorage)
  const hasRelations = variants.some(({ features }) => features.some(({ name }) => name === feature.name))
  const isTarget = others.some((collection) => [...collection.attached.relations.values()].some((relation) => {
    return relation.findTarget(collection.app).collection.baseStorage === baseStorage
  }))
  const canRelate = targets.some((target) => served.some((collection) => collection.baseStorage === target.baseStorage))
  return hasRelations || isTarget || !canRelate ? undefined : variants[0]
}

/** An app may want that: the foreign keys of a database check references as well. */
function warnOfMissingRelations (name: string, isReferring: boolean): void {
  const what = isReferring ? 'its relations, and its references are not checked' : 'its relations'
  process.emitWarning(
    `Collection ${name}: it is served without ${what}, because relate() does not change the definitions that ` +
      'it gets. Register those that it returns, as in const related = relate(definitions, relations), and add ' +
      'further features to them.',
    { type: 'FastifyCollectionsWarning', code: 'FST_COLLECTION_NO_RELATIONS' }
  )
}

/** Beside a definition with references, all others that write the same items have to check them as well. */
function checkWriters (served: readonly Collection[], referring: readonly RelatedDefinition[]): void {
  for (const collection of served) {
    const unchecked = referring.find(({ defined, feature }) => {
      return defined.writeQueue === collection.writeQueue && !collection.features.includes(feature)
    })
    if (unchecked === undefined || !canWrite(collection)) continue
    throw new BadOption(collection.name, 'relate() added references to these items, which this definition does not ' +
      'check. Register what relate() returned, or make this one read-only: actions: [\'list\', \'read\'].')
  }
}

function canWrite ({ actions, attached }: Collection): boolean {
  return [...actions].some((action) => action !== 'list' && action !== 'read') ||
    [...attached.actions.values()].some(({ safe }) => !safe)
}

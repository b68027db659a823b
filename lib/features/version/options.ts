import type { ActionName } from '../../action.ts'
import type { Collection } from '../../collection.ts'
import type { Defaults } from '../../define.ts'
import { BadOption } from '../../errors.ts'
import { formatValue } from '../../format-value.ts'
import { isObject } from '../../http/json-value.ts'
import { findQueryable } from '../../listing/queryable.ts'
import { toCanonicalJson } from '../../schema/canonical-json.ts'
import { checkSchema } from '../../schema/checks.ts'
import type { ItemSchema } from '../../schema/checks.ts'
import { readProperties } from '../../schema/properties.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import { toCurrentProperty } from './storage.ts'
import type { Renamed } from './storage.ts'

// The options that an older version of a collection inherits, and the properties that its lists can be queried by.

const currentOptions = ['storage', 'id', 'unique', 'hooks']

/** For callers without TypeScript. */
export function checkExplicitOptions (
  name: string,
  { renamed, explicit }: { readonly renamed: unknown, readonly explicit: object }
): void {
  if (!isObject(renamed)) {
    throw new BadOption(name, `renamed is ${formatValue(renamed)}. ` +
      'Make it an object with the current names of properties, as in renamed: { mail: \'email\' }.')
  }
  const current = currentOptions.find((option) => Object.hasOwn(explicit, option))
  if (current === undefined) return
  throw new BadOption(name, `a version has ${currentOptions.join(', ')} of the current version. Remove "${current}".`)
}

/** Options that name properties are not inherited: an older version has to state its own. */
export function checkExplicitAccess (
  { access }: Collection,
  name: string,
  explicit: { readonly scope?: unknown, readonly visible?: unknown } = {}
): void {
  if (access?.scope !== undefined && explicit.scope === undefined) {
    throw new BadOption(name, 'the current version has access.scope, which names its own properties. ' +
      'Add access.scope to this version, with the properties of this version.')
  }
  if (access !== undefined && access.visible.size > 0 && explicit.visible === undefined) {
    throw new BadOption(name, 'the current version has access.visible, which names its own properties. ' +
      'Add access.visible to this version, with the properties of this version.')
  }
}

/** A version of a nested collection would serve the items of all parents, without the rules of the parent. */
export function checkParent ({ name: current, attached: { parent } }: Collection, name: string): void {
  if (parent === undefined) return
  const { collection: { name: outer }, property } = parent
  throw new BadOption(name, `the current version is nested in ${outer}, and a version does not inherit that. ` +
    `Pass the definition of ${current} that has no within(), and nest the version itself, ` +
    `as in .with(within(${outer}, '${property}')).`)
}

/** The references of the current version are not checked for items of an older one. */
export function checkReferences (
  { attached, actions: inherited }: Collection,
  name: string,
  actions: Iterable<ActionName> = inherited
): void {
  const hasReferences = [...attached.relations.values()].some(({ references }) => references)
  if (!hasReferences || [...actions].every((action) => action === 'list' || action === 'read')) return
  throw new BadOption(name, 'the current version has relations with references, which are not checked here. ' +
    'Make this version read-only: actions: [\'list\', \'read\'].')
}

/** Returns the options of the current version that apply to an older one, above all who may call which action. */
export function getInherited (current: Collection): Defaults {
  const { actions, access, lists: { limit }, put } = current
  const { routes, challenge, trustedOrigins, formats, etag } = current.http
  return {
    actions: [...actions],
    routes,
    access: {
      trustedOrigins,
      ...access && {
        ...access.authenticate && { authenticate: access.authenticate },
        ...access.explicit.size > 0 && {
          allow: Object.fromEntries([...access.explicit].map((action) => {
            return [action, action === 'all' ? access.defaultRule : access.allow[action]]
          }))
        },
        challenge,
        vary: access.vary
      }
    },
    list: { limit },
    formats,
    put,
    etag
  }
}

interface OlderVersion {
  readonly current: Collection
  readonly name: string
  readonly schema: JsonSchema
}

interface ExplicitLists {
  readonly renamed: Renamed
  readonly filter?: readonly string[]
  readonly sort?: readonly string[]
  readonly search?: readonly string[]
  readonly order?: readonly string[]
}

type QueryableLists = Pick<ExplicitLists, 'filter' | 'sort'>

/**
 * Returns the properties that lists can be filtered and sorted by. The storage has the current properties, so these are
 * the ones with the same values in both versions.
 */
export function deriveLists (older: OlderVersion, explicit: ExplicitLists): QueryableLists {
  const { current, name } = older
  const { renamed, filter, sort, search = [], order = [] } = explicit
  const schema = checkSchema(name, older.schema)
  const shared = findSharedProperties(schema, current, renamed)
  const unknown = Object.keys(renamed).find((property) => !shared.has(property))
  if (unknown !== undefined) {
    throw new BadOption(name, `renamed maps "${unknown}" to "${renamed[unknown]}", ` +
      'but these are not properties with the same schema. Remove it from renamed, or make the schemas the same.')
  }

  const queryable = [...findQueryable({ schema, properties: readProperties(schema) }).keys()]
  const findAvailable = (offered: ReadonlyMap<string, unknown>): string[] => queryable.filter((property) => {
    return shared.has(property.split('.', 1)[0]!) && offered.has(toCurrentProperty(renamed, property))
  })
  const { known, filterable, sortable } = current.lists
  const available = {
    filter: findAvailable(filterable),
    sort: findAvailable(sortable),
    search: findAvailable(known),
    order: findAvailable(known)
  }
  const chosen = { filter, sort, search, order: order.map((property) => property.replace(/^-/, '')) }
  for (const [option, properties] of Object.entries(chosen)) {
    const choice = available[option as keyof typeof available]
    const missing = properties?.find((property) => !choice.includes(property))
    if (missing === undefined) continue
    throw new BadOption(name, `list.${option} contains "${missing}", ` +
      'which is not a property with the same name and schema that lists of the current version can be queried by. ' +
      `Available properties: ${choice.join(', ')}. If it has another name now, add it to renamed.`)
  }
  const { supports } = current.storage
  return {
    ...supports.filter && { filter: filter ?? available.filter },
    ...supports.order && { sort: sort ?? available.sort }
  }
}

/** Returns the properties of the older schema that have the same values in the current one. */
function findSharedProperties (schema: ItemSchema, current: Collection, renamed: Renamed): Set<string> {
  return new Set(Object.keys(schema.properties).filter((property) => {
    const currentSchema = current.schema.properties?.[toCurrentProperty(renamed, property)]
    return hasSameValues(schema.properties[property]!, currentSchema)
  }))
}

function hasSameValues (old: JsonSchema, current: JsonSchema | undefined): boolean {
  return current !== undefined &&
    toCanonicalJson(omitAnnotations(old)) === toCanonicalJson(omitAnnotations(current))
}

/** These keywords do not restrict the values of a property. */
function omitAnnotations (schema: JsonSchema): JsonSchema {
  const { readOnly, writeOnly, immutable, default: value, title, description, examples, ...rest } = schema
  return rest
}

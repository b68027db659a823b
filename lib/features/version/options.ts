import type { Collection } from '../../collection.ts'
import { BadOption } from '../../errors.ts'
import { queryable } from '../../listing/queryable.ts'
import { canonical } from '../../schema/canonical.ts'
import { checkSchema } from '../../schema/checks.ts'
import { propertiesOf } from '../../schema/properties.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import { propertyIn } from './storage.ts'

// What the older version of a collection takes over, and what its lists can be asked by.

/** An older door is not an open one, but what speaks of properties cannot be taken over. */
export function checkRestated ({ guard }: Collection, name: string, stated: { readonly scope?: unknown, readonly visible?: unknown }): void {
  if (guard?.scope !== undefined && stated.scope === undefined) throw new BadOption(name, 'the current version has a scope, in its own properties. State the scope of this version in the properties of this one.')
  if (guard !== undefined && guard.visible.size > 0 && stated.visible === undefined) throw new BadOption(name, 'in the current version not every caller sees every property. State in visible who sees which properties of this version.')
}

/** Above all who may do what. */
export function inherited ({ actions, routes, guard, page, formats, precondition, weakTags, replace, serviceDescription, problems }: Collection): object {
  return {
    actions: [...actions],
    routes,
    ...guard?.authentication && { authentication: guard.authentication },
    ...guard && guard.stated.size > 0 && { access: Object.fromEntries([...guard.stated].map(action => [action, guard.rules[action]])) },
    page,
    formats,
    precondition,
    weakTags: weakTags ? 'tolerated' : 'refused',
    replace,
    ...serviceDescription !== undefined && { serviceDescription },
    ...problems !== undefined && { problems }
  }
}

interface Compared {
  readonly current: Collection
  readonly name: string
  readonly schema: JsonSchema
}

interface Asked {
  readonly renamed: Readonly<Record<string, string | undefined>>
  readonly filter?: readonly string[]
  readonly sort?: readonly string[]
  readonly search?: readonly string[]
  readonly order?: readonly string[]
}

/** A storage knows the current properties: lists can be asked by those that have the same values in both. */
export function sharedProperties ({ current, name, schema: given }: Compared, { renamed, filter, sort, search = [], order = [] }: Asked): { filter?: readonly string[], sort?: readonly string[] } {
  const schema = checkSchema(name, given)
  const shared = new Set(Object.keys(schema.properties).filter(property => isSame(schema.properties[property]!, current.schema.properties?.[propertyIn(renamed, property)])))
  const strange = Object.keys(renamed).find(property => !shared.has(property))
  if (strange !== undefined) throw new BadOption(name, `renamed leads from "${strange}" to "${renamed[strange]}", but both must be properties of the same schema.`)
  const { listing: { known, filterable, sortable } } = current
  const of = (offered: ReadonlyMap<string, unknown>): string[] => [...queryable({ schema, properties: propertiesOf(schema) }).keys()]
    .filter(property => shared.has(property.split('.', 1)[0]!) && offered.has(propertyIn(renamed, property)))
  const offers = { filter: of(filterable), sort: of(sortable), search: of(known), order: of(known) }
  for (const [option, properties] of Object.entries({ filter, sort, search, order: order.map(property => property.replace(/^-/, '')) })) {
    const choice = offers[option as keyof typeof offers]
    const missing = properties?.find(property => !choice.includes(property))
    if (missing !== undefined) throw new BadOption(name, `${option} names "${missing}", which does not have the same name and schema in the current version, or cannot be asked by there. Choose of: ${choice.join(', ')}; or name it in renamed.`)
  }
  const { supports } = current.storage
  return { ...supports.filter && { filter: filter ?? offers.filter }, ...supports.order && { sort: sort ?? offers.sort } }
}

/** Who writes or reads a property, and what it is for, says nothing of its values. */
function isSame (old: JsonSchema, current: JsonSchema | undefined): boolean {
  return current !== undefined && canonical(bare(old)) === canonical(bare(current))
}

function bare ({ readOnly, writeOnly, immutable, default: value, title, description, examples, ...rest }: JsonSchema): JsonSchema {
  return rest
}

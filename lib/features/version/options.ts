import type { Collection } from '../../collection.ts'
import type { Defaults } from '../../define.ts'
import { BadOption } from '../../errors.ts'
import { findQueryable } from '../../listing/queryable.ts'
import { toCanonicalJson } from '../../schema/canonical-json.ts'
import { checkSchema } from '../../schema/checks.ts'
import { readProperties } from '../../schema/properties.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import { propertyIn } from './storage.ts'

// What the older version of a collection takes over, and what its lists can be asked by.

/** The rules of the current version apply to this one, except for those that name properties. */
export function checkRestated ({ access }: Collection, name: string, stated: { readonly scope?: unknown, readonly visible?: unknown } = {}): void {
  if (access?.scope !== undefined && stated.scope === undefined) throw new BadOption(name, 'the current version has access.scope, which names its own properties. Set access.scope of this version, with the properties of this one.')
  if (access !== undefined && access.visible.size > 0 && stated.visible === undefined) throw new BadOption(name, 'in the current version not all callers see all properties. Set access.visible of this version.')
}

/** The options of the current version that apply to an older one, above all who may do what. */
export function getInherited ({ actions, routes, access, challenge, limit, formats, put, etag }: Collection): Defaults {
  return {
    actions: [...actions],
    routes,
    ...access && {
      access: {
        ...access.authenticate && { authenticate: access.authenticate },
        ...access.stated.size > 0 && { allow: Object.fromEntries([...access.stated].map((action) => [action, access.allow[action]])) },
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
  const of = (offered: ReadonlyMap<string, unknown>): string[] => [...findQueryable({ schema, properties: readProperties(schema) }).keys()]
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
  return current !== undefined && toCanonicalJson(bare(old)) === toCanonicalJson(bare(current))
}

function bare ({ readOnly, writeOnly, immutable, default: value, title, description, examples, ...rest }: JsonSchema): JsonSchema {
  return rest
}

import type { AddedAggregates, FigureName, FigureOf, OfferedFigures } from '../engine/aggregate-types.ts'
import { formatValue } from '../errors/format-value.ts'
import { isStringArray } from '../http/json-value.ts'
import { findQueryable } from '../query/queryable.ts'
import type { QueryableProperty } from '../query/queryable.ts'
import { readProperties } from '../schema/properties.ts'
import type { DatePart, Grouping } from '../storage/contract.ts'
import { figureNames, isFigureTable, reservedNames, resolveGroups } from './aggregates/query.ts'
import type { AggregateSettings } from './aggregates/query.ts'
import { aggregate } from './aggregates/run.ts'
import { buildOutputSchema, describeParameters } from './aggregates/schema.ts'
import type { Feature, FeatureProperty, Host } from '../engine/feature.ts'

/** A property, which may be nested, or a part of a date: `status`, `address.country`, `createdAt.month`. */
export type GroupName<Property extends string = string> = Property | `${Property}.${string}`

/** The options of `aggregates()`. */
export interface AggregatesOptions<By extends string = string, Of extends object = OfferedFigures> {
  /**
   * What items can be grouped by: properties, and parts of dates and date-times, in UTC: `.year`, `.month`, `.day` and
   * `.hour`.
   *
   * @default []
   * @example
   * by: ['status', 'createdAt.month']
   */
  by?: readonly By[]
  /**
   * The figures that are offered, by property. `sum` and `avg` are for numbers, `min` and `max` for numbers and text,
   * and `distinct`, the number of different values, is for all.
   *
   * @default {}
   * @example
   * of: { total: ['sum', 'avg', 'min', 'max'], customerId: ['distinct'] }
   */
  of?: Of
  /**
   * How many groups a response has at most.
   *
   * @default 1000
   * @example
   * maximum: 100
   */
  maximum?: number
  /**
   * The last segment of the path.
   *
   * @default 'aggregate'
   * @example
   * path: 'figures'
   */
  path?: string
}

/** Refuses properties that the items do not have, and figures that their values cannot have. */
type CheckedFigures<Of, Item> = {
  readonly [Property in keyof Of]: Property extends GroupName<FeatureProperty<Item>>
    ? ReadonlyArray<FigureOf<Item, Property>>
    : never
}

/**
 * Serves figures over the items that match a filter, by groups:
 * `GET /orders/aggregate?by=status&sum=total&createdAt.gte=2026-01-01`.
 *
 * @example
 * define({ name: 'orders', schema: Order, storage: postgres(pool) })
 *   .with(aggregates({ by: ['status', 'createdAt.month'], of: { total: ['sum', 'avg'] } }))
 */
export function aggregates<
  Item extends object = Record<string, unknown>,
  const By extends GroupName<FeatureProperty<NoInfer<Item>>> = never,
  const Of extends OfferedFigures = Record<never, never>
> (
  options: AggregatesOptions<By, Of & CheckedFigures<Of, NoInfer<Item>>>
): Feature<Item, AddedAggregates<By, Of>> {
  return {
    name: 'aggregates',
    setup (host) {
      host.checkOptions('aggregates', options, ['by', 'of', 'maximum', 'path'])
      const { by = [], of = {}, maximum = 1000, path = 'aggregate' } = options as AggregatesOptions
      checkPlace(host, path)
      if (!Number.isSafeInteger(maximum) || maximum < 1 || maximum > maxMaximum) {
        host.fail(`aggregates: maximum is ${formatValue(maximum)}. Make it a whole number from 1 to ${maxMaximum}.`)
      }
      const { schema } = host.collection
      const known = findQueryable({ schema, properties: readProperties(schema) })
      const settings = { by: readGroupings(host, by, known), of: readFigures(host, of, known), maximum }
      host.addAggregate({
        path,
        run: aggregate,
        resolveQuery: (tree, lists) => resolveGroups(settings, tree, lists),
        parameters: describeParameters(settings),
        output: buildOutputSchema(settings, schema)
      })
    }
  }
}

/** Each group is held in memory. */
const maxMaximum = 10_000

const pathPattern = /^[A-Za-z][\w-]{0,63}$/

/** Checks that nothing else has the path or the names of the parameters. */
function checkPlace (host: Host, path: string): void {
  const { actions, id, schema } = host.collection
  if (typeof path !== 'string' || !pathPattern.test(path)) {
    host.fail(`aggregates: path is ${formatValue(path)}. It is a path segment: ` +
      'use letters, digits, - and _, and begin with a letter.')
  }
  if (!actions.has('list')) {
    host.fail('aggregates: figures are read as a list is, but actions does not contain "list". ' +
      'Add it to actions, or remove aggregates().')
  }
  if (id.read(path) !== undefined) {
    host.fail(`aggregates: an item can have the id "${path}", which could no longer be reached. ` +
      'Set path to a segment that no id can have, or restrict the schema of the id, for example with format: \'uuid\'.')
  }
  const reserved = reservedNames.find((name) => Object.hasOwn(schema.properties, name))
  if (reserved !== undefined) {
    host.fail(`aggregates: the property "${reserved}" has the name of a query parameter. Rename the property.`)
  }
}

type Known = ReadonlyMap<string, QueryableProperty>

const dateParts: readonly DatePart[] = ['year', 'month', 'day', 'hour']

function isDatePart (name: string): name is DatePart {
  return (dateParts as readonly string[]).includes(name)
}

/** The parts that a property has. A date has no hour. */
function getParts ({ schema: { format } }: QueryableProperty): readonly DatePart[] {
  if (format === 'date-time') return dateParts
  return format === 'date' ? dateParts.filter((part) => part !== 'hour') : []
}

function readGroupings (host: Host, by: unknown, known: Known): AggregateSettings['by'] {
  if (!isStringArray(by)) {
    host.fail(`aggregates: by is ${formatValue(by)}. Make it an array of properties and parts of dates, ` +
      'as in by: [\'status\', \'createdAt.month\'].')
  }
  return new Map(by.map((name) => [name, readGrouping(host, name, known)]))
}

function readGrouping (host: Host, name: string, known: Known): Grouping {
  const property = known.get(name)
  if (property?.isArray === false) return { property: name }
  const dot = name.lastIndexOf('.')
  const outer = dot < 0 ? undefined : known.get(name.slice(0, dot))
  const part = name.slice(dot + 1)
  if (outer === undefined) {
    const available = [...known.values()].filter(({ isArray }) => !isArray).map((one) => one.property)
    return host.fail(`aggregates: by contains "${name}", which is not a string, number or boolean that clients ` +
      `can read, or a part of a date. Available properties: ${available.join(', ')}.`)
  }
  const parts = getParts(outer)
  if (isDatePart(part) && parts.includes(part)) return { property: outer.property, part }
  return host.fail(parts.length === 0
    ? `aggregates: by contains "${name}", but "${outer.property}" has no parts: it is no date. Use "${outer.property}".`
    : `aggregates: by contains "${name}". The parts of "${outer.property}" are ${parts.join(', ')}.`)
}

/** Which properties each figure can be computed of. */
const figureKinds: Readonly<Record<FigureName, { what: string, accepts: (property: QueryableProperty) => boolean }>> = {
  distinct: { what: 'a string, number or boolean', accepts: () => true },
  sum: { what: 'a number', accepts: isNumber },
  avg: { what: 'a number', accepts: isNumber },
  min: { what: 'a number or a string', accepts: isOrdered },
  max: { what: 'a number or a string', accepts: isOrdered }
}

function isNumber ({ type }: QueryableProperty): boolean {
  return type === 'number' || type === 'integer'
}

function isOrdered ({ type, ordered }: QueryableProperty): boolean {
  return ordered && type !== 'boolean'
}

function readFigures (host: Host, of: unknown, known: Known): AggregateSettings['of'] {
  if (!isFigureTable(of)) {
    host.fail(`aggregates: of is ${formatValue(of)}. ` +
      'Make it an object with an array of figures for each property, as in of: { total: [\'sum\', \'avg\'] }.')
  }
  const figures: Record<FigureName, string[]> = { distinct: [], sum: [], avg: [], min: [], max: [] }
  for (const [property, names] of Object.entries(of)) {
    const unknown = names.find((name) => !Object.hasOwn(figures, name))
    if (unknown !== undefined) {
      host.fail(`aggregates: of.${property} contains "${unknown}". ` +
        `Available figures: ${figureNames.join(', ')}. The number of items, count, is always available.`)
    }
    for (const name of figureNames.filter((figure) => names.includes(figure))) {
      checkFigure(host, name, property, known)
      figures[name].push(property)
    }
  }
  return figures
}

function checkFigure (host: Host, name: FigureName, property: string, known: Known): void {
  const { what, accepts } = figureKinds[name]
  const fits = (one: QueryableProperty): boolean => !one.isArray && accepts(one)
  const found = known.get(property)
  if (found !== undefined && fits(found)) return
  const available = [...known.values()].filter(fits).map((one) => one.property)
  host.fail(`aggregates: of.${property} contains "${name}", but "${property}" is not ${what} that clients can read. ` +
    `Available properties: ${available.join(', ') || 'none'}.`)
}

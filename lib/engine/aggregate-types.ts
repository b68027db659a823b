import type { Scalar } from '../storage/contract.ts'

// The types of aggregates, for calls from code and for the typed client.

/** A figure over the values of a property. */
export type FigureName = 'distinct' | 'sum' | 'avg' | 'min' | 'max'

/** The figures that are offered, by property. */
export type OfferedFigures = Readonly<Record<string, readonly FigureName[]>>

/** What `aggregates()` adds to the type of a definition: a method of calls from code and of the typed client. */
export interface AddedAggregates<By extends string = string, Of extends OfferedFigures = OfferedFigures> {
  /** What items can be grouped by. */
  readonly by: By
  /** The figures by property. */
  readonly of: Of
}

/** The properties that have a figure. */
type PropertyWith<Of, Name extends FigureName> = {
  [Property in keyof Of]: Of[Property] extends readonly FigureName[]
    ? Name extends Of[Property][number] ? Property & string : never
    : never
}[keyof Of]

type SortName<Added extends AddedAggregates> =
  | Added['by']
  | 'count'
  | { [Name in FigureName]: `${Name}.${PropertyWith<Added['of'], Name>}` }[FigureName]

/** Which groups and figures to compute. */
export type GroupsQuery<Added extends AddedAggregates> = {
  /**
   * What items are grouped by: properties, and parts of dates in UTC. Without it, all items are one group.
   *
   * @default []
   * @example
   * by: ['status', 'createdAt.month']
   */
  readonly by?: ReadonlyArray<Added['by']>
  /**
   * Whether groups have the number of their items.
   *
   * @default true if no other figure is requested
   * @example
   * count: true
   */
  readonly count?: boolean
  /**
   * What groups are sorted by: what they are grouped by, and their figures. A `-` means descending.
   *
   * @default the order of `by`
   * @example
   * sort: ['-sum.total']
   */
  readonly sort?: ReadonlyArray<SortName<Added> | `-${SortName<Added>}`>
  /**
   * How many groups are returned.
   *
   * @default `maximum` of `aggregates()`
   * @example
   * limit: 10
   */
  readonly limit?: number
} & {
  /** The properties to compute the figure of. */
  readonly [Name in FigureName]?: ReadonlyArray<PropertyWith<Added['of'], Name>>
}

/** Refuses names that are not known, which the compiler accepts in a type that it infers. */
export type KnownNames<Given, Known> = { readonly [Name in Exclude<keyof Given, keyof Known>]?: never }

/** A property that can be missing is null in a group. */
type GroupValue<Value> = undefined extends Value ? Exclude<Value, undefined> | null : Value

type NullIf<Value> = undefined extends Value ? null : null extends Value ? null : never

/** The value of a property, which may be nested, or of a part of a date. */
type ValueAt<Item, Path> =
  Path extends keyof Item
    ? GroupValue<Item[Path]>
    : Path extends `${infer Name}.${infer Rest}`
      ? Name extends keyof Item
        ? NonNullable<Item[Name]> extends string
          ? string | NullIf<Item[Name]>
          : ValueAt<NonNullable<Item[Name]>, Rest> | NullIf<Item[Name]>
        : Scalar | null
      : Scalar | null

/** The figures that a property can have. What its type does not show is checked at boot. */
export type FigureOf<Item, Property> =
  NonNullable<ValueAt<Item, Property>> extends infer Value
    ? unknown extends Value
      ? FigureName
      : Value extends boolean ? 'distinct' : Value extends string ? 'distinct' | 'min' | 'max' : FigureName
    : never

type Names<Given> = Given extends ReadonlyArray<infer Name extends string> ? Name : never

type FigureValue<Item, Name, Property> =
  Name extends 'distinct'
    ? number
    : Name extends 'sum' | 'avg' ? number | null : NonNullable<ValueAt<Item, Property>> | null

type HasFigure<Query> = { [Name in FigureName]: Name extends keyof Query ? Name : never }[FigureName]

/** The figures of a group. */
type GroupFigures<Item, Query> = {
  readonly [Name in HasFigure<Query>]: {
    readonly [Property in Names<Query[Name & keyof Query]>]: FigureValue<Item, Name, Property>
  }
}

type GroupCount<Query> =
  Query extends { readonly count: true }
    ? { readonly count: number }
    : Query extends { readonly count: boolean }
      ? { readonly count?: number }
      : [HasFigure<Query>] extends [never] ? { readonly count: number } : unknown

/** A group of items, and its figures. */
export type GroupOf<Item, Query> =
  {
    /** What the items of the group have in common. */
    readonly by: {
      readonly [Name in Names<Query extends { readonly by: infer By } ? By : never>]: ValueAt<Item, Name>
    }
  } &
  GroupCount<Query> &
  GroupFigures<Item, Query>

/** Groups of items with their figures, in order. */
export interface GroupsOf<Item, Query> {
  /** The groups. Without `by`, one group, even if there are no items. */
  readonly groups: ReadonlyArray<GroupOf<Item, Query>>
  /** Whether there are more groups than the limit. */
  readonly more: boolean
}

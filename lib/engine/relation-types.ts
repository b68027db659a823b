import type { AddsOfCollection, Definition, ItemOfCollection } from './collection.ts'
import type { FilterOperator, PropertyConditions } from './filter-types.ts'
import type { PropertyOf } from '../schema/static.ts'
import type { Scalar } from '../storage/contract.ts'

// The types of relations: what relate() takes and returns, and what queries of related collections can contain.
// A place, or a graph, is declared invariant (`in out`): to find that out itself, the compiler would compare types that
// refer to each other without end.

// ---- What relate() takes --------------------------------------------------------------------------------------------

/** Definitions, by the names that relations use for them. */
export type Definitions = Readonly<Record<string, Definition>>

/** The type of the ids of a collection; of any id if another property than `id` holds them. */
type IdOf<Of> = ItemOfCollection<Of> extends { id: infer Id } ? Id : string | number

/** The property if it can hold such an id: its type is as narrow or as wide, and it can be optional or null. */
type IfHolds<Value, Id, Property> =
  [NonNullable<Value>] extends [Id] ? Property : [Id] extends [NonNullable<Value>] ? Property : never

/**
 * A relation to one item: a property of this collection holds the id of an item of another one.
 *
 * @example
 * author: { to: 'users', property: 'authorId' }
 */
export interface ToOne<To extends string = string, Item = Record<string, unknown>, Id = unknown> {
  /** The name of the other collection among the definitions. */
  readonly to: To
  /** The property of this collection that holds the id. It can be optional or null. */
  // Not an alias, so that messages list the names.
  readonly property: [keyof Item] extends [never]
    ? string
    : { [Property in PropertyOf<Item>]: IfHolds<Item[Property], Id, Property> }[PropertyOf<Item>]
  /** Only for relations to many items. */
  readonly by?: never
  /**
   * Whether the other item has to exist when the property is written, and cannot be removed while the property refers
   * to it. An included item can be null all the same: the caller may not be allowed to read it.
   *
   * @default false
   * @example
   * author: { to: 'users', property: 'authorId', references: true }
   */
  readonly references?: boolean
  /**
   * Whether clients can filter by properties of the other item: `author.country=AT`.
   *
   * @default true
   * @example
   * author: { to: 'users', property: 'authorId', filter: false }
   */
  readonly filter?: boolean
  /**
   * Whether clients can sort by properties of the other item: `sort=author.name`.
   *
   * @default true
   * @example
   * author: { to: 'users', property: 'authorId', sort: false }
   */
  readonly sort?: boolean
}

/**
 * A relation to many items: a property of another collection holds the id of an item of this one.
 *
 * @example
 * comments: { to: 'comments', by: 'articleId', limit: 10 }
 */
export interface ToMany<To extends string = string, Item = Record<string, unknown>, Id = unknown> {
  /** The name of the other collection among the definitions. */
  readonly to: To
  /** The property of the other collection that holds the id. It can be optional or null. */
  readonly by: [keyof Item] extends [never]
    ? string
    : { [Property in PropertyOf<Item>]: IfHolds<Item[Property], Id, Property> }[PropertyOf<Item>]
  /** Only for relations to one item. */
  readonly property?: never
  /**
   * How many items are included if the client does not say so.
   *
   * @default 10
   * @example
   * comments: { to: 'comments', by: 'articleId', limit: 10 }
   */
  readonly limit?: number
  /**
   * The order of included items if the client does not sort them. A `-` means descending.
   *
   * @default `list.order` of the other collection
   * @example
   * comments: { to: 'comments', by: 'articleId', order: ['-createdAt'] }
   */
  readonly order?: ReadonlyArray<PropertyOf<Item> | `-${PropertyOf<Item>}`>
  /**
   * Whether clients can filter by the other items: `comments.some.text.like=*x*`, `comments.count.gte=3`.
   *
   * @default true
   * @example
   * comments: { to: 'comments', by: 'articleId', filter: false }
   */
  readonly filter?: boolean
}

/** Every relation that a collection can have. The compiler picks the members of the union by `to`. */
type RelationOf<Of extends Definitions, Name extends keyof Of> = {
  [To in PropertyOf<Of>]:
    | ToOne<To, ItemOfCollection<Of[Name]>, IdOf<Of[To]>>
    | ToMany<To, ItemOfCollection<Of[To]>, IdOf<Of[Name]>>
}[PropertyOf<Of>]

/** Relations by the names of collections, and then by their own. */
export type RelationsOf<Of extends Definitions> = {
  readonly [Name in keyof Of]?: Readonly<Record<string, RelationOf<Of, Name>>>
}

type OptionOf<Relation> = Relation extends { by: string } ? keyof ToMany : keyof ToOne

/** Refuses what the constraint of relations lets through: an inferred object type may have more properties. */
export type Checked<Of extends Definitions, Relations> = {
  readonly [Name in keyof Relations]: Name extends keyof Of
    ? CheckedRelations<ItemOfCollection<Of[Name]>, Relations[Name]>
    : `No definition has this name. Use ${PropertyOf<Of>}.`
}

type CheckedRelations<Item, Relations> = {
  readonly [Name in keyof Relations]: Name extends KnownProperty<Item>
    ? `"${Name}" is a property of the items. Rename the relation.`
    : { readonly [Option in keyof Relations[Name]]: Option extends OptionOf<Relations[Name]> ? unknown : never }
}

/** The names of the properties; none if the schema has no types. */
type KnownProperty<Item> = string extends keyof Item ? never : PropertyOf<Item>

// ---- What relate() returns ------------------------------------------------------------------------------------------

/** The items and the relations of all related collections, by their names. No value has this type. */
export interface Graph {
  /** The types of the items. */
  readonly items: Readonly<Record<string, object>>
  /** The relations, as `relate()` takes them. */
  readonly relations: object
}

/**
 * What `relate()` adds to the type of a definition: its place in the graph, which calls from code and the typed client
 * follow.
 */
export interface AddedRelations<In extends Graph = Graph, Name extends string = string> {
  /** All related collections. */
  readonly graph: In
  /** The name of this one. */
  readonly collection: Name
}

/** The definitions, with what their relations add to calls from code and to the typed client. */
export type RelatedDefinitions<Of extends Definitions, Relations extends object> = {
  readonly [Name in PropertyOf<Of>]: Definition<
    ItemOfCollection<Of[Name]>,
    AddsOfCollection<Of[Name]> | AddedRelations<GraphOf<Of, Relations>, Name>
  >
}

/** The items of definitions by name, and their relations. */
export interface GraphOf<Of extends Definitions, Relations extends object> {
  /** The items of each definition. */
  readonly items: { readonly [Name in keyof Of]: ItemOfCollection<Of[Name]> }
  /** The relations of each definition, as they were passed to `relate()`. */
  readonly relations: Relations
}

/** The place of a definition among related ones; never if it has no relations. */
export type PlaceOf<Of> = Extract<AddsOfCollection<Of>, AddedRelations>

// ---- Following relations --------------------------------------------------------------------------------------------

/** The items of the collection at a place. */
type ItemAt<Place extends AddedRelations> = Place['graph']['items'][Place['collection']]

type RelationsAt<Place extends AddedRelations> =
  Place['collection'] extends keyof Place['graph']['relations']
    ? Place['graph']['relations'][Place['collection']]
    : Record<never, never>

/** The names of the relations of a collection. */
type RelationName<Place extends AddedRelations> = PropertyOf<RelationsAt<Place>>

/** The names of the relations to many items. */
type ManyName<Place extends AddedRelations> = {
  [Name in RelationName<Place>]: RelationsAt<Place>[Name] extends { by: string } ? Name : never
}[RelationName<Place>]

/** The names of the relations to one item. */
type OneName<Place extends AddedRelations> = Exclude<RelationName<Place>, ManyName<Place>>

/** The place that a relation leads to. */
type TargetOf<Place extends AddedRelations, Name extends RelationName<Place>> =
  RelationsAt<Place>[Name] extends { to: infer To extends string } ? AddedRelations<Place['graph'], To> : never

// ---- What `expand` takes --------------------------------------------------------------------------------------------

/** How many levels can still be included. */
type Levels = 0 | 1 | 2 | 3
interface LevelsBelow { 0: 0, 1: 0, 2: 1, 3: 2 }

/** A path of relations, of up to 3 levels: `author`, `comments.author`. It includes what is on the way. */
export type ExpandPath<Place extends AddedRelations, Left extends Levels = 3> = Left extends 0 ? never : {
  [Name in RelationName<Place>]: Name | `${Name}.${ExpandPath<TargetOf<Place, Name>, LevelsBelow[Left]>}`
}[RelationName<Place>]

/**
 * The paths that `expand` takes, for code that composes them. What such paths include is optional in the result.
 *
 * @example
 * const paths: Array<PathsOf<typeof articles>> = ['author']
 * if (withComments) paths.push('comments.author')
 */
export type PathsOf<Of> = PathsAt<PlaceOf<Of>>

type PathsAt<Place> = Place extends AddedRelations ? ExpandPath<Place> : never

/** The relations to include, each with `true` or with options. */
export type ExpandObject<Place extends AddedRelations, Left extends Levels = 3> =
  Left extends 0 ? never : {
    readonly [Name in RelationName<Place>]?: true | (
      Name extends ManyName<Place>
        ? ExpandManyOptions<TargetOf<Place, Name>, LevelsBelow[Left]>
        : ExpandOneOptions<TargetOf<Place, Name>, LevelsBelow[Left]>
    )
  }

/** How a related item is included. */
export interface ExpandOneOptions<
  in out Place extends AddedRelations,
  in out Left extends Levels = 2
> {
  /**
   * The properties to include.
   *
   * @default all
   * @example
   * expand: { author: { fields: ['id', 'name'] } }
   */
  readonly fields?: ReadonlyArray<PropertyOf<ItemAt<Place>>>
  /**
   * What is included in it.
   *
   * @default nothing
   * @example
   * expand: { author: { expand: { manager: true } } }
   */
  readonly expand?: ExpandObject<Place, Left>
}

/** How a list of related items is included. */
export interface ExpandManyOptions<
  in out Place extends AddedRelations,
  in out Left extends Levels = 2
> extends ExpandOneOptions<Place, Left> {
  /**
   * How many items each list has. With 0 and `count`, they are only counted.
   *
   * @default `limit` of the relation
   * @example
   * expand: { comments: { limit: 5 } }
   */
  readonly limit?: number
  /**
   * Properties to sort by. A `-` means descending.
   *
   * @default `order` of the relation
   * @example
   * expand: { comments: { sort: ['-createdAt'] } }
   */
  readonly sort?: ReadonlyArray<SortKey<Place>>
  /**
   * Conditions for the items of the list.
   *
   * @default all items
   * @example
   * expand: { comments: { filter: { 'text.like': '*x*' } } }
   */
  readonly filter?: RelatedFilter<Place>
  /**
   * Whether each list has the `total` of its items.
   *
   * @default false
   * @example
   * expand: { comments: { limit: 0, count: true } }
   */
  readonly count?: boolean
}

/** What `expand` takes: paths, or relations with options. */
export type Expansion<Place extends AddedRelations> =
  | ReadonlyArray<ExpandPath<Place>>
  | ExpandObject<Place>

/** Refuses unknown names in an expansion: an inferred object type may have more properties than its constraint. */
export type CheckedExpansion<Given, Shape> = Given extends readonly unknown[] ? unknown : {
  readonly [Name in keyof Given]: Name extends keyof Shape
    ? CheckedOptions<Given[Name], Exclude<Shape[Name], true | undefined>>
    : never
}

type CheckedOptions<Given, Shape> = Given extends true ? unknown : {
  readonly [Name in keyof Given]: Name extends 'expand' & keyof Shape
    ? CheckedExpansion<Given[Name], Exclude<Shape[Name], undefined>>
    : Name extends 'filter' & keyof Shape
      ? KnownNames<Given[Name], Exclude<Shape[Name], undefined>>
      : Name extends keyof Shape ? unknown : never
}

type KnownNames<Given, Shape> = { readonly [Name in keyof Given]: Name extends keyof Shape ? unknown : never }

// ---- What is included -----------------------------------------------------------------------------------------------

/** A list of related items. */
export interface RelatedPage<Item> {
  /** The items, in the order of the list. */
  readonly items: readonly Item[]
  /** The URL of the next page; missing if this is the last one. */
  readonly next?: string
  /** How many items there are in all, if `count` was requested. */
  readonly total?: number
}

/** What a relation includes. An item is null if there is none, or if the caller may not read it. */
type Included<Place extends AddedRelations, Name, Item> =
  Name extends ManyName<Place> ? RelatedPage<Item> : Item | null

type FirstName<Path> = Path extends `${infer Name}.${string}` ? Name : Path
type PathAfter<Path, Name extends string> = Path extends `${Name}.${infer Rest}` ? Rest : never

// The mapped types below have no names of their own, so that editors show what they contain instead of the graph.

/** An item with what paths include. */
type WithPaths<Item, Place extends AddedRelations, Path, Left extends Levels> =
  [Path, Left] extends [never, Levels] | [unknown, 0] ? Item : Item & {
    readonly [Name in FirstName<Path> & RelationName<Place>]: Included<Place, Name, WithPaths<
      Readonly<ItemAt<TargetOf<Place, Name>>>, TargetOf<Place, Name>, PathAfter<Path, Name>, LevelsBelow[Left]
    >>
  }

/** An item with what paths include that are only known at run time: all of it is optional. */
type WithSomePaths<Item, Place extends AddedRelations, Path, Left extends Levels> =
  [Path, Left] extends [never, Levels] | [unknown, 0] ? Item : Item & {
    readonly [Name in FirstName<Path> & RelationName<Place>]?: Included<Place, Name, WithSomePaths<
      Readonly<ItemAt<TargetOf<Place, Name>>>, TargetOf<Place, Name>, PathAfter<Path, Name>, LevelsBelow[Left]
    >>
  }

/** An item with what an object includes. */
type WithObject<Item, Place extends AddedRelations, Given, Left extends Levels> =
  [keyof Given, Left] extends [never, Levels] | [unknown, 0] ? Item : Item & {
    readonly [Name in keyof Given & RelationName<Place>]: Included<Place, Name, WithObject<
      Readonly<ItemAt<TargetOf<Place, Name>>>,
      TargetOf<Place, Name>,
      Given[Name] extends { readonly expand: infer Inner } ? Inner : Record<never, never>,
      LevelsBelow[Left]
    >>
  }

/** An item with what `expand` includes. */
// Without `expand`, `Given` is its constraint, which takes an object without properties as well.
export type Expanded<Item, Place extends AddedRelations, Given> = [Record<never, never>] extends [Given]
  ? Item
  : Given extends readonly unknown[]
    ? number extends Given['length']
      ? WithSomePaths<Item, Place, Given[number], 3>
      : WithPaths<Item, Place, Given[number], 3>
    : WithObject<Item, Place, Given, 3>

// ---- Filters and sorts ----------------------------------------------------------------------------------------------

/** The name of a property of a related item: `author.name`. */
type OneProperty<Place extends AddedRelations> = {
  [Name in OneName<Place>]: `${Name}.${PropertyOf<ItemAt<TargetOf<Place, Name>>>}`
}[OneName<Place>]

type SortForms<Property extends string> = Property | `-${Property}` | `${Property}.${string}` | `-${Property}.${string}`

/** A property to sort by, also of a related item: `-createdAt`, `author.name`. A `-` means descending. */
// A condition that is always met, so that messages list the names of properties.
export type SortKey<Place> =
  Place extends AddedRelations ? SortForms<PropertyOf<ItemAt<Place>> | OneProperty<Place>> : never

type CountKey = 'count' | `count.${'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte'}`

/** Conditions about related items. */
interface ManyConditions<in out Place extends AddedRelations>
  extends Readonly<Partial<Record<CountKey, number>>> {
  /** At least one of them meets these conditions. */
  readonly some?: RelatedFilter<Place>
  /** None of them meets these conditions. */
  readonly none?: RelatedFilter<Place>
}

/**
 * Conditions that must all be met, also about related items: nested objects, and dotted names for the properties of a
 * relation to one item.
 *
 * @example
 * const filter = {
 *   status: 'published',
 *   'author.country': 'AT',
 *   comments: { some: { 'text.like': '*x*' }, 'count.gte': 3 }
 * }
 */
export type RelatedFilter<Place extends AddedRelations> = PropertyConditions<ItemAt<Place>> & {
  readonly [Name in OneName<Place>]?: RelatedFilter<TargetOf<Place, Name>>
} & {
  readonly [Name in ManyName<Place>]?: ManyConditions<TargetOf<Place, Name>>
} & {
  readonly [Key in OneProperty<Place> | `${OneProperty<Place>}.${FilterOperator}`]?:
  Scalar | Date | ReadonlyArray<Scalar | Date>
} & {
  readonly all?: ReadonlyArray<RelatedFilter<Place>>
  readonly any?: ReadonlyArray<RelatedFilter<Place>>
  readonly not?: RelatedFilter<Place>
}

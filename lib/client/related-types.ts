import type {
  AddedRelations,
  CheckedExpansion,
  Expanded,
  ExpandObject,
  Expansion
} from '../engine/relation-types.ts'
import type { RelatedQuery } from '../engine/call-types.ts'
import type { Call, Client, Entry, Marks, PageOfEntries, PageQuery, Seen, Target } from './types.ts'

// The types of the client of a collection with relations.

/** The options of a request that can include related items. */
export interface ReadCall<in out Place extends AddedRelations, in out Wanted = Expansion<Place>> extends Call {
  /** The related items to include: paths, or an object with options for each relation. */
  readonly expand?: Wanted & CheckedExpansion<Wanted, ExpandObject<Place>>
}

/** The query of a list, with conditions and orders that can be about related items, and what to include. */
export interface RelatedListQuery<in out Item, in out Place extends AddedRelations, in out Wanted = Expansion<Place>>
  extends PageQuery<Item>, Pick<RelatedQuery<Place, Wanted>, 'filter' | 'sort' | 'q' | 'count' | 'expand'> {}

/** The methods of a collection with relations. Those that read know what they include. */
export interface RelatedClient<in out Item, in out Given extends Marks, in out Place extends AddedRelations>
  extends Omit<Client<Item, Given>, 'list' | 'pages' | 'read'> {
  /**
   * Iterates over all items that match, with the related items that `expand` names. Pages are requested as they are
   * needed.
   *
   * @example
   * const query = { expand: ['author', 'comments.author'], filter: { 'author.country': 'AT' } } as const
   * for await (const { item } of articles.list(query)) console.log(item.author?.name)
   */
  list<const Wanted extends Expansion<Place>> (
    query?: RelatedListQuery<Item, Place, Wanted>,
    call?: Call
  ): AsyncGenerator<Entry<Expanded<Seen<Item, Given>, Place, Wanted>>, void>
  /** Iterates over pages, with the related items that `expand` names. */
  pages<const Wanted extends Expansion<Place>> (
    query?: RelatedListQuery<Item, Place, Wanted>,
    call?: Call
  ): AsyncGenerator<PageOfEntries<Expanded<Seen<Item, Given>, Place, Wanted>>, undefined>
  /**
   * Reads an item, with the related items that `expand` names.
   *
   * @example
   * const { item } = await articles.read('1', { expand: { comments: { limit: 5, expand: { author: true } } } })
   */
  read<const Wanted extends Expansion<Place>> (
    item: Target<Item, Given>,
    call?: ReadCall<Place, Wanted>
  ): Promise<Entry<Expanded<Seen<Item, Given>, Place, Wanted>>>
}

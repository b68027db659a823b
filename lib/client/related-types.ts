import type {
  AddedRelations,
  CheckedExpansion,
  Expanded,
  ExpandObject,
  Expansion,
  FlatRelatedFilter,
  SortKey
} from '../relations/types.ts'
import type { Call, Client, Marks, PageOfItems, Query, Seen, Target } from './types.ts'

// The types of the client of a collection with relations.

/** The options of a request that can include related items. */
export interface ReadCall<in out Place extends AddedRelations, in out Wanted = Expansion<Place, 'http'>> extends Call {
  /** The related items to include: paths, or an object with options for each relation. */
  readonly expand?: Wanted & CheckedExpansion<Wanted, ExpandObject<Place, 'http'>>
}

/** The query of a list, with conditions and orders that can be about related items, and what to include. */
export type RelatedListQuery<Item, Place extends AddedRelations, Wanted = Expansion<Place, 'http'>> =
  Omit<Query<Item>, 'expand' | 'sort'> &
  FlatRelatedFilter<Place> &
  Pick<ReadCall<Place, Wanted>, 'expand'> &
  { readonly sort?: ReadonlyArray<SortKey<Place>> }

/** The methods of a collection with relations. Those that read know what they include. */
export interface RelatedClient<in out Item, in out Given extends Marks, in out Place extends AddedRelations>
  extends Omit<Client<Item, Given>, 'list' | 'pages' | 'read'> {
  /**
   * Iterates over all items that match, with the related items that `expand` names. Pages are requested as they are
   * needed.
   *
   * @example
   * const query = { expand: ['author', 'comments.author'], 'author.country': 'AT' } as const
   * for await (const article of articles.list(query)) console.log(article.author?.name)
   */
  list<const Wanted extends Expansion<Place, 'http'>> (
    query?: RelatedListQuery<Item, Place, Wanted>,
    call?: Call
  ): AsyncGenerator<Expanded<Seen<Item, Given>, Place, Wanted>, void>
  /** Iterates over pages, with the related items that `expand` names. */
  pages<const Wanted extends Expansion<Place, 'http'>> (
    query?: RelatedListQuery<Item, Place, Wanted>,
    call?: Call
  ): AsyncGenerator<PageOfItems<Expanded<Seen<Item, Given>, Place, Wanted>>, void>
  /**
   * Reads an item, with the related items that `expand` names. Without `expand`, returns the same object if it is given
   * an item that has not changed.
   *
   * @example
   * const article = await articles.read('1', { expand: { comments: { limit: 5, expand: { author: true } } } })
   */
  read<const Wanted extends Expansion<Place, 'http'>> (
    item: Target<Item, Given>,
    call?: ReadCall<Place, Wanted>
  ): Promise<Expanded<Seen<Item, Given>, Place, Wanted>>
}

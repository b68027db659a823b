import { deprecationOf } from './deprecation.ts'
import type { DeprecationFields, DeprecationOptions } from './deprecation.ts'
import { movesOf } from './moves.ts'
import type { MovedOption, Moves } from './moves.ts'
import { tombstonesOf } from './tombstones.ts'
import type { Kept, TombstoneOptions, Tombstones } from './tombstones.ts'

/** What a definition says of items, and of itself, that are not what or where they were. */
export interface Evolution<Item> {
  readonly moved: Moves | undefined
  readonly tombstones: Tombstones<Item> | undefined
  readonly deprecation: DeprecationFields | undefined
}

interface EvolutionOptions {
  readonly name: string
  readonly moved?: MovedOption
  readonly tombstones?: TombstoneOptions
  readonly deprecated?: DeprecationOptions
}

export function evolutionOf<Item extends object> ({ name, moved, tombstones, deprecated }: EvolutionOptions, kept: Kept<Item>): Evolution<Item> {
  return { moved: movesOf(name, moved), tombstones: tombstonesOf(name, kept, tombstones), deprecation: deprecationOf(name, deprecated) }
}

import type { Collection } from '../definition.ts'
import type { Problem } from '../http/problems.ts'
import type { Question } from '../listing/question.ts'

export type Parameters = Readonly<Record<string, unknown>>

/** The query string of a list, read in the dialect of a client. */
export interface Translation {
  readonly question: Question
  /** The parameters that are none of the dialect. */
  readonly rest: Parameters
}

/** A page of a list as it is about to be answered. */
export interface Listed {
  readonly name: string
  readonly parameters: Parameters
  /** How many items stand before it. */
  readonly offset: number
  readonly length: number
  /** How many items there are in all, where it is known. */
  readonly total: number | undefined
}

/** How a client asks for what items refer to. */
export interface Embedding {
  readonly parameter: string
  /** The names of the relations, where the value of the parameter is understood. */
  names (value: unknown): unknown
}

/** How a client that has its own way of asking is understood, and what it needs to be told. */
export interface Profile {
  translate (collection: Collection, parameters: Parameters): Translation | Problem
  /** Of a list as of an item; undefined where it does not ask. */
  readonly embedding: Embedding | undefined
  /** Fields of its lists, beside ours. */
  listFields (listed: Listed): Record<string, string>
  /** Members of its problems, beside those of RFC 9457. */
  problemMembers (problem: Problem): Record<string, unknown>
  /** Whether it reads the item that a DELETE has removed. */
  readonly showsRemoved: boolean
  /** Whether the content of its PUT may be a part of the item. */
  readonly sendsParts: boolean
}

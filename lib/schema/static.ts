/** @ts-ignore the package is an optional peer; without it, schemas of that generation are typed as unknown */
import type { Static as StaticOfTypebox } from 'typebox'

/**
 * A TypeBox object of either generation (`@sinclair/typebox` 0.34, `typebox` 1).
 * It is recognized by its structure, so that this file needs neither package.
 */
export interface ObjectSchema {
  readonly type: 'object'
  readonly properties: object
}

/**
 * The type of the items that a schema describes. The optional function, which no schema has, makes the type invariant:
 * the compiler would otherwise compare all types of TypeBox to find out, which takes it as long as the whole library.
 */
export type StaticOf<Schema> =
  Schema extends { static: unknown, params: unknown[] }
    ? (Schema & { params: [] })['static']
    : Schema extends { '~kind': string, '~invariant'?: (schema: Schema) => Schema } ? StaticOfTypebox<Schema> : unknown

/** Like `StaticOf`, but always an object. A schema that is not from TypeBox gives a record of unknown values. */
export type ItemOf<Schema> = StaticOf<Schema> extends infer Item extends object ? Item : Record<string, unknown>

/** The names of the properties of an item. */
export type PropertyOf<Item> = Extract<keyof Item, string>

/** @ts-ignore the package is an optional peer; without it, schemas of that generation are typed as unknown */
import type { Static as StaticOfTypebox } from 'typebox'
import type { StandardSchema } from './standard-schema.ts'

/**
 * A TypeBox object of either generation (`@sinclair/typebox` 0.34, `typebox` 1).
 * It is recognized by its structure, so that this file needs neither package.
 */
export interface TypeBoxObject {
  readonly type: 'object'
  readonly properties: object
}

/** The schema of an object: of TypeBox, or of a library with Standard JSON Schema, such as zod, valibot and arktype. */
export type ObjectSchema = TypeBoxObject | StandardSchema

/** What a schema of another library than TypeBox accepts, and what it makes of that. */
type StandardTypes<Schema> =
  Schema extends { readonly '~standard': { readonly types?: infer Types } } ? NonNullable<Types> : unknown

/**
 * The type of the items that a schema describes. The optional function, which no schema has, makes the type invariant:
 * the compiler would otherwise compare all types of TypeBox to find out, which takes it as long as the whole library.
 */
export type StaticOf<Schema> =
  Schema extends { static: unknown, params: unknown[] }
    ? (Schema & { params: [] })['static']
    : Schema extends { readonly '~standard': object }
      ? StandardTypes<Schema> extends { readonly output: infer Output } ? Output : unknown
      : Schema extends { '~kind': string, '~invariant'?: (schema: Schema) => Schema }
        ? StaticOfTypebox<Schema>
        : unknown

/** Like `StaticOf`, but always an object. A schema without types gives a record of unknown values. */
export type ItemOf<Schema> = StaticOf<Schema> extends infer Item extends object ? Item : Record<string, unknown>

/** What a caller can send: properties with a default can be left out, if the library of the schema knows them. */
export type InputOf<Schema> =
  StandardTypes<Schema> extends { readonly input: infer Input extends object } ? Input : ItemOf<Schema>

/** The names of the properties of an item. */
export type PropertyOf<Item> = Extract<keyof Item, string>

import type { JsonSchema } from '../storage/contract.ts'

/** The content of a message, by media type. */
export type Content = Readonly<Record<string, { readonly schema: JsonSchema, readonly example?: unknown }>>

/** What the messages of a collection contain. */
export interface DescribedContents {
  /** An item, as responses have it. */
  item (): Content
  /** A page of items. */
  list (): Content
  /** An item, as requests have it. */
  representation (kind: 'create' | 'replace'): Content
  /** One item or an array of them, as a POST with `bulk()` has it. */
  representations (maximum: number): Content
}

/** An operation of an OpenAPI document. */
export interface OperationObject {
  description: string
  deprecated?: boolean
  parameters: object[]
  responses: Record<string, ResponseObject>
  requestBody?: object
}

export interface ResponseObject {
  $ref?: string
  description?: string
  headers?: Record<string, object>
  content?: object
}

import type { JsonSchema } from '../storage/contract.ts'

/** The content of a message, by media type. */
export type Content = Readonly<Record<string, { readonly schema: JsonSchema, readonly example?: unknown }>>

export interface Reference extends JsonSchema { readonly $ref: string }

export type ComponentKind = 'schemas' | 'responses' | 'headers' | 'parameters'

/** What several operations of a document refer to. */
export interface DescribedComponents {
  /** Whether the version of the document has the method QUERY: 3.2 or later. */
  readonly supportsQuery: boolean
  /** Returns a reference to a component, and builds the component on the first call. */
  reference (kind: ComponentKind, name: string, build: (self: Reference) => unknown): Reference
}

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

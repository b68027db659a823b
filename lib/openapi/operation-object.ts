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

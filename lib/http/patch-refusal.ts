// RFC 5789, section 2.2: why a patch is not applied.

export interface PatchRefusalDetails {
  /** The patch document is malformed, it cannot be applied to the target, or one of its `test` operations fails. */
  readonly kind: 'malformed' | 'inapplicable' | 'test'
  readonly detail: string
  /** The index of the operation in the patch document. */
  readonly index: number
  readonly pointer?: string | undefined
}

/** Thrown, but not an Error: it becomes a response and needs no stack. */
export class PatchRefusal implements PatchRefusalDetails {
  readonly kind: PatchRefusalDetails['kind']
  readonly detail: string
  readonly index: number
  readonly pointer: string | undefined

  constructor ({ kind, detail, index, pointer }: PatchRefusalDetails) {
    this.kind = kind
    this.detail = detail
    this.index = index
    this.pointer = pointer
  }
}

// RFC 5789 §2.2: why a patch is not applied.

export interface Refused {
  /** The patch document itself is wrong, it does not fit the target, or a `test` of it does not hold. */
  readonly kind: 'malformed' | 'inapplicable' | 'test'
  readonly detail: string
  /** Of the operation in the patch document. */
  readonly index: number
  readonly pointer?: string | undefined
}

export class PatchRefusal implements Refused {
  readonly kind: Refused['kind']
  readonly detail: string
  readonly index: number
  readonly pointer: string | undefined

  constructor ({ kind, detail, index, pointer }: Refused) {
    this.kind = kind
    this.detail = detail
    this.index = index
    this.pointer = pointer
  }
}

import type { Dialect, Value } from './dialect.ts'

/** The values of one statement: the only way by which anything of a client comes near SQL. */
export class Parameters {
  readonly values: Value[]
  readonly #placeholder: Dialect['placeholder']

  constructor ({ placeholder }: Dialect, values: readonly Value[] = []) {
    this.#placeholder = placeholder
    this.values = [...values]
  }

  /** Its placeholder. */
  bind (value: Value): string {
    return this.#placeholder(this.values.push(value))
  }
}

/** Each expression equals what is bound to it, in their order, behind so many others. */
export function equated ({ placeholder }: Dialect, expressions: readonly string[], bound = 0): string {
  return expressions.map((expression, index) => `${expression} = ${placeholder(bound + index + 1)}`).join(' AND ')
}

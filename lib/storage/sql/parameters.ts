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

import type { Dialect, Value } from './dialect.ts'

/** The bound values of one statement. Values of clients get into a statement only through here. */
export class Parameters {
  readonly values: Value[]
  readonly #placeholder: Dialect['placeholder']

  constructor ({ placeholder }: Dialect, values: readonly Value[] = []) {
    this.#placeholder = placeholder
    this.values = [...values]
  }

  /** Binds a value and returns its placeholder. */
  bind (value: Value): string {
    return this.#placeholder(this.values.push(value))
  }
}

/** Builds a condition in which each expression equals its own parameter, after so many that are bound before. */
export function buildEquality ({ placeholder }: Dialect, expressions: readonly string[], bound = 0): string {
  return expressions.map((expression, index) => `${expression} = ${placeholder(bound + index + 1)}`).join(' AND ')
}

import type { SqlDialect, Value } from './dialect.ts'

/** The bound values of one statement. Values of clients get into a statement only through here. */
export class Parameters {
  readonly values: Value[]
  readonly #placeholder: SqlDialect['placeholder']

  constructor ({ placeholder }: SqlDialect, values: readonly Value[] = []) {
    this.#placeholder = placeholder
    this.values = [...values]
  }

  /** Binds a value and returns its placeholder. */
  bind (value: Value): string {
    return this.#placeholder(this.values.push(value))
  }
}

/** Builds a condition in which each expression equals its own parameter, after so many that are bound before. */
export function buildEquality (dialect: SqlDialect, expressions: readonly string[], bound = 0): string {
  return joinTests(dialect, expressions, (expression, index) => (
    `${expression} = ${dialect.placeholder(bound + index + 1)}`
  ))
}

/** Joins the tests of expressions that together test for equality. */
export function joinTests (
  { recheck }: SqlDialect,
  expressions: readonly string[],
  build: (expression: string, index: number) => string
): string {
  const [first = ''] = expressions
  return expressions
    .map(build)
    .map((test, index) => index === 0 || recheck === undefined ? test : recheck(test, first))
    .join(' AND ')
}

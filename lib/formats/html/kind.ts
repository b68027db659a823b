import type { JsonSchema } from '../../storage/contract.ts'

/** How a value is asked for and shown. */
export interface Kind {
  readonly type: 'string' | 'number' | 'integer' | 'choice' | 'json'
  /** What it can be, where that can be told one by one. */
  readonly choices: readonly unknown[]
  readonly nullable: boolean
  /** What is said of it where it is not null. */
  readonly schema: JsonSchema
}

export function kindOf (schema: JsonSchema): Kind {
  const branches = (schema.anyOf ?? schema.oneOf ?? [schema]) as readonly JsonSchema[]
  const kinds = branches.filter(({ type }) => type !== 'null')
  const values = kinds.map(valuesOf)
  const nullable = kinds.length < branches.length || kinds.some(kind => typesOf(kind).includes('null')) || values.some(choices => choices?.includes(null))
  if (values.every(choices => choices !== undefined)) return { type: 'choice', choices: values.flat().filter(value => value !== null), nullable, schema }
  const [only, ...others] = kinds.flatMap(kind => typesOf(kind).filter(type => type !== 'null'))
  const single = kinds.length === 1 && others.length === 0 ? only : undefined
  return { type: scalars.find(type => type === single) ?? 'json', choices: [], nullable, schema: kinds.length === 1 ? kinds[0]! : schema }
}

const scalars = ['string', 'number', 'integer'] as const

function typesOf ({ type = [] }: JsonSchema): readonly string[] {
  return typeof type === 'string' ? [type] : type
}

function valuesOf (schema: JsonSchema): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum
  if (schema.const !== undefined) return [schema.const]
  return typesOf(schema).filter(type => type !== 'null').join() === 'boolean' ? truth : undefined
}

const truth = [true, false]

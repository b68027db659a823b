import type { JsonSchema } from '../../storage/contract.ts'

/** Which control a value has. */
export interface Kind {
  readonly type: 'string' | 'number' | 'integer' | 'choice' | 'json'
  /** The possible values of a choice, without null. */
  readonly choices: readonly unknown[]
  readonly nullable: boolean
  /** The schema of values other than null. */
  readonly schema: JsonSchema
}

const scalarTypes = ['string', 'number', 'integer'] as const

/** Derives the control of a value from its schema. */
export function getKind (schema: JsonSchema): Kind {
  const branches = (schema.anyOf ?? schema.oneOf ?? [schema]) as readonly JsonSchema[]
  const variants = branches.filter(({ type }) => type !== 'null')
  const values = variants.map(getValues)
  const nullable = variants.length < branches.length ||
    variants.some((variant) => getTypes(variant).includes('null')) ||
    values.some((choices) => choices?.includes(null))
  if (values.every((choices) => choices !== undefined)) {
    return { type: 'choice', choices: values.flat().filter((value) => value !== null), nullable, schema }
  }
  const types = variants.flatMap((variant) => getTypes(variant).filter((type) => type !== 'null'))
  const onlyType = variants.length === 1 && types.length === 1 ? types[0] : undefined
  return {
    type: scalarTypes.find((type) => type === onlyType) ?? 'json',
    choices: [],
    nullable,
    schema: variants.length === 1 ? variants[0]! : schema
  }
}

function getTypes ({ type = [] }: JsonSchema): readonly string[] {
  return typeof type === 'string' ? [type] : type
}

const booleans = [true, false]

function getValues (schema: JsonSchema): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum
  if (schema.const !== undefined) return [schema.const]
  return getTypes(schema).filter((type) => type !== 'null').join() === 'boolean' ? booleans : undefined
}

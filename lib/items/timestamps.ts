import { BadSchema } from '../errors.ts'
import { checkProperties } from '../schema/checks.ts'
import type { ItemSchema } from '../schema/checks.ts'

/** The properties that tell when an item was made, and when it last changed; the library keeps them. */
export interface Timestamps {
  readonly created: string | undefined
  readonly updated: string | undefined
}

export function timestampsOf (name: string, schema: ItemSchema, options: { created?: string, updated?: string } | false | undefined): Timestamps {
  if (options === false) return { created: undefined, updated: undefined }
  if (options === undefined) return { created: conventional(schema, 'createdAt'), updated: conventional(schema, 'updatedAt') }
  const { created, updated } = options
  for (const property of [created, updated]) {
    if (property === undefined) continue
    checkProperties(name, schema, { timestamps: [property] })
    if (schema.properties[property]?.format !== 'date-time') throw new BadSchema(name, `the property "${property}" is kept as a timestamp, so it must be Type.String({ format: 'date-time' }).`)
  }
  return { created, updated }
}

let moment = 0
let text = ''

/** Now. To write it takes longer than to read the clock, and many writes come in one millisecond. */
export function timestamp (): string {
  const now = Date.now()
  if (now !== moment) {
    moment = now
    text = new Date(now).toISOString()
  }
  return text
}

function conventional (schema: ItemSchema, property: string): string | undefined {
  const described = schema.properties[property]
  return described?.format === 'date-time' && described.readOnly === true ? property : undefined
}

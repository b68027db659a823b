import { BadSchema } from '../errors.ts'
import { checkMembers } from '../schema/checks.ts'
import type { ItemSchema } from '../schema/checks.ts'

/** The members that tell when an item was made, and when it last changed; the library keeps them. */
export interface Timestamps {
  readonly created: string | undefined
  readonly updated: string | undefined
}

export function timestampsOf (name: string, schema: ItemSchema, options: { created?: string, updated?: string } | false | undefined): Timestamps {
  if (options === false) return { created: undefined, updated: undefined }
  if (options === undefined) return { created: conventional(schema, 'createdAt'), updated: conventional(schema, 'updatedAt') }
  const { created, updated } = options
  for (const member of [created, updated]) {
    if (member === undefined) continue
    checkMembers(name, schema, { timestamps: [member] })
    if (schema.properties[member]?.format !== 'date-time') throw new BadSchema(name, `the member "${member}" is kept as a timestamp, so it must be Type.String({ format: 'date-time' }).`)
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

function conventional (schema: ItemSchema, member: string): string | undefined {
  const described = schema.properties[member]
  return described?.format === 'date-time' && described.readOnly === true ? member : undefined
}

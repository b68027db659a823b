import { BadSchema } from '../errors/errors.ts'
import { clockTolerance } from '../http/preconditions.ts'
import { checkProperties } from './checks.ts'
import type { ItemSchema } from './checks.ts'

/** The properties that the library sets when an item is created and when it changes. */
export interface Timestamps {
  readonly created: string | undefined
  readonly updated: string | undefined
}

/** Checks the option `timestamps`. Without it, `createdAt` and `updatedAt` are used if the schema has them. */
export function readTimestamps (
  name: string,
  schema: ItemSchema,
  options: { created?: string, updated?: string } | false | undefined
): Timestamps {
  if (options === false) return { created: undefined, updated: undefined }
  if (options === undefined) {
    return { created: findConventional(schema, 'createdAt'), updated: findConventional(schema, 'updatedAt') }
  }
  const { created, updated } = options
  for (const property of [created, updated]) {
    if (property === undefined) continue
    checkProperties(name, schema, { timestamps: [property] })
    if (schema.properties[property]?.format !== 'date-time') {
      throw new BadSchema(name, `the property "${property}" is a timestamp. ` +
        'Make it Type.String({ format: \'date-time\' }).')
    }
  }
  return { created, updated }
}

function findConventional (schema: ItemSchema, property: string): string | undefined {
  const described = schema.properties[property]
  return described?.format === 'date-time' && described.readOnly === true ? property : undefined
}

let lastTime = 0
let lastText = ''

/** The current time. Formatting takes longer than reading the clock, and many writes happen in the same millisecond. */
export function getTimestamp (): string {
  const now = Date.now()
  if (now !== lastTime) {
    lastTime = now
    lastText = new Date(now).toISOString()
  }
  return lastText
}

const lastInstant = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * The time of a change: now, but always later than that of the change before, which may be by a clock that is ahead.
 * If this clock is so far behind that a client may have the date of the change before, it gets another second: dates
 * in HTTP have no milliseconds.
 */
export function getNextTimestamp (before: unknown): string {
  const now = getTimestamp()
  // The order of these texts is the order of the instants.
  if (typeof before !== 'string' || before < now) return now
  const stored = Date.parse(before)
  if (Number.isNaN(stored)) return now
  const isFarBehind = stored - lastTime >= clockTolerance
  const next = isFarBehind ? Math.floor(stored / 1000) * 1000 + 1000 : stored + 1
  return new Date(Math.min(next, lastInstant)).toISOString()
}

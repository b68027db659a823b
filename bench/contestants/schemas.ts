// The collection of `ours`, with schemas of other libraries.
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import type { FastifyInstance } from 'fastify'
import * as v from 'valibot'
import { z } from 'zod'
import collection, { define } from '../../lib/index.ts'
import type { Adapter } from '../../lib/storage/contract.ts'
import type { ObjectSchema } from '../../lib/schema/static.ts'
import type { User } from '../user.ts'
import { open } from './ours.ts'

declare global {
  interface ArkEnv {
    meta(): { readOnly?: boolean, writeOnly?: boolean }
  }
}

const zodUser = z.object({
  id: z.uuid().meta({ readOnly: true }),
  email: z.email(),
  name: z.string().min(1),
  password: z.string().meta({ writeOnly: true }),
  createdAt: z.iso.datetime().meta({ readOnly: true })
})

const uuid = type('string').configure({ format: 'uuid', readOnly: true })
const dateTime = type('string').configure({ format: 'date-time', readOnly: true })

const schemas = {
  zod: zodUser,
  refined: zodUser.refine(({ name, password }) => name !== password, { path: ['password'], message: 'is the name' }),
  valibot: toStandardJsonSchema(v.object({
    id: v.pipe(v.string(), v.uuid(), v.metadata({ readOnly: true })),
    email: v.pipe(v.string(), v.email()),
    name: v.pipe(v.string(), v.minLength(1)),
    password: v.pipe(v.string(), v.metadata({ writeOnly: true })),
    createdAt: v.pipe(v.string(), v.isoTimestamp(), v.metadata({ readOnly: true }))
  })),
  arktype: type({
    id: uuid,
    email: 'string.email',
    name: 'string > 0',
    password: type('string').configure({ writeOnly: true }),
    createdAt: dateTime
  })
}

function setup (schema: ObjectSchema) {
  const add = (app: FastifyInstance, name: string, adapter: Adapter<User>): void => {
    // The items of all schemas are users.
    const storage = adapter as unknown as Adapter<Record<string, unknown>>
    app.register(collection, define({ name, schema, unique: ['email'], storage }))
  }
  return { open, add }
}

export const zod = setup(schemas.zod)
export const refined = setup(schemas.refined)
export const valibot = setup(schemas.valibot)
export const arktype = setup(schemas.arktype)

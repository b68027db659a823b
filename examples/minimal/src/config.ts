import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import envSchema from 'env-schema'
import { databaseSettings } from './database.ts'

const schema = Type.Object({
  HOST: Type.String({ default: '127.0.0.1' }),
  PORT: Type.Integer({ default: 3000, minimum: 0, maximum: 65_535 }),
  ...databaseSettings
})

export type Config = Static<typeof schema>

/** Reads the settings from the environment and the file .env. Throws if they are invalid. */
export function config (): Config {
  return envSchema<Config>({ schema, dotenv: true })
}

#!/usr/bin/env node
import type { FastifyInstance } from 'fastify'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { toCollection, type Definition } from './engine/collection.ts'
import { getRegistered } from './engine/registry.ts'
import { schemaSql } from './define/schema-sql.ts'

// npx fastify-collections schema <module>: prints the SQL for the tables of the definitions that a module exports.

const usage = `Usage: npx fastify-collections schema <module>
Compares the tables of a database with definitions, and prints the SQL that changes the tables. It does not run it.
The module exports definitions, arrays of definitions, what relate() returns, or a Fastify app that does not listen yet:
  npx fastify-collections schema src/users.ts > migrations/7-users.sql`

/** A mistake that is reported without a stack. */
class Refusal extends Error {}

try {
  await write(await run(process.argv.slice(2)))
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exitCode = 1
}
// The module may have opened a pool, which would keep the process running.
process.exit()

async function run (words: readonly string[]): Promise<string> {
  const [command, file] = words
  if (command === '--help' || command === '-h') return `${usage}\n`
  if (command !== 'schema' || file === undefined || words.length > 2) throw new Refusal(usage)
  const exported: object = await import(pathToFileURL(resolve(file)).href)
  // A module can export a definition by itself and as a part of what relate() returns.
  const definitions = [...new Set(await findDefinitions(Object.values(exported)))]
  if (definitions.length === 0) {
    throw new Refusal(
      `${file} exports no definition. ` +
      'Pass a module that exports what define() returns, an array of it, what relate() returns, or a Fastify app.'
    )
  }
  return await schemaSql(...definitions)
}

async function findDefinitions (exported: unknown): Promise<Definition[]> {
  const value = await exported
  if (Array.isArray(value)) return (await Promise.all(value.map(findDefinitions))).flat()
  if (isDefinition(value)) return [value]
  if (!isApp(value)) return Object.values(Object(value)).filter(isDefinition)
  try {
    await value.ready()
  } catch (error) {
    // The tables do not match the definitions, which is why the command is run.
    if (Object(error).code !== 'FST_COLLECTION_BAD_TABLE') throw error
  }
  return getRegistered(value).map(({ collection }) => collection)
}

function isDefinition (value: unknown): value is Definition {
  return typeof value === 'object' && value !== null && toCollection(value as Definition).baseStorage !== undefined
}

function isApp (value: unknown): value is FastifyInstance {
  return typeof value === 'object' && value !== null && 'server' in value && 'ready' in value
}

/** Ends after the whole text has been passed on, also to a pipe. */
async function write (text: string): Promise<void> {
  await new Promise((resolve) => process.stdout.write(text, resolve))
}

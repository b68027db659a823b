import { schemaSql } from 'fastify-collections'
import { database, definitions } from './definitions.ts'

// npm run db:apply: prints the same SQL as npm run db:diff, and runs it.

try {
  const sql = await schemaSql(...definitions)
  process.stdout.write(sql)
  // MySQL refuses a text that has only comments.
  const hasStatements = sql.split('\n').some((line) => line !== '' && !line.startsWith('--'))
  if (hasStatements) await database.run(sql)
} catch (error) {
  console.error(`The tables cannot be changed: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  await database.close()
}

import { BadStorageError } from '../bad-storage.ts'
import type { CheckContext, Finding, StorageUse } from '../contract.ts'
import { readCatalog } from './catalog.ts'
import { compareTable, type Difference } from './compare-table.ts'
import type { Layout } from './layout.ts'
import { buildNewTable } from './useful-indexes.ts'
import { buildReceiptTable } from './receipts.ts'
import {
  buildAddForeignKey,
  findNewReferences,
  findReferrers,
  ReferenceConstraints
} from './reference-constraints.ts'
import type { Session } from './session.ts'

const defaultUse: StorageUse = { creates: true, writes: true, receipts: false }

/**
 * Compares a table with its definition. Returns a sentence for each difference that makes requests fail, and a warning
 * for each that makes them slow. Throws if a table does not exist.
 */
export async function checkTable (
  layout: Layout,
  session: Session,
  context: CheckContext
): Promise<readonly Finding[]> {
  try {
    return await findDifferences(layout, session, context)
  } catch (error) {
    // An option of the storage that the database cannot fulfill.
    if (error instanceof BadStorageError) return [error.message]
    throw error
  }
}

async function findDifferences (
  layout: Layout,
  session: Session,
  { signal, use = defaultUse }: CheckContext
): Promise<readonly Finding[]> {
  const { dialect, path, receipts } = layout
  const catalog = await readCatalog(dialect, path, session, { signal })
  if (catalog === undefined) throw reportMissingTable(layout, describeMissingTable(layout))
  const differences = compareTable(addKeys(layout, use), catalog, use)
  const findings = differences.map((difference): Finding => {
    const sentence = toSentence(difference)
    return difference.isWarning === true ? { warning: sentence } : sentence
  })
  const hasMistake = findings.some((finding) => typeof finding === 'string')
  if (use.receipts && !hasMistake && await readCatalog(dialect, receipts.path, session, { signal }) === undefined) {
    throw reportMissingTable(
      layout,
      `The table ${receipts.table} does not exist. The feature idempotency needs it. ${howToCreate}`
    )
  }
  return findings
}

/** A storage is opened before its definition is related to others. */
function addKeys (layout: Layout, { keys = [] }: StorageUse): Layout {
  return { ...layout, keys }
}

const howToCreate = 'Create it with await storage.createTable(definition), ' +
  'or run the SQL that npx fastify-collections schema prints for the module of the definition.'

function describeMissingTable ({ table, managed }: Layout): string {
  const howToFix = managed ? howToCreate : 'Run the migration that creates it, or correct the storage option "table".'
  return `The table ${table} does not exist. ${howToFix}`
}

const reported = new WeakSet<Layout>()

/** Returns the error. It is also a warning of the process, once, because an app without a logger starts silently. */
function reportMissingTable (layout: Layout, message: string): Error {
  if (!reported.has(layout)) process.emitWarning(message, { code: 'FST_COLLECTION_NO_TABLE' })
  reported.add(layout)
  return new Error(message)
}

function toSentence ({ what, statements, alternative: otherwise }: Difference): string {
  if (statements.length === 0) return `${what}. ${otherwise}`
  return `${what}. Run ${statements.join('; ')}${otherwise === '' ? '' : `, ${otherwise}`}.`
}

/**
 * Builds the SQL that changes the tables to what the definition needs, with a comment for each difference. Empty if
 * there is none.
 */
export async function buildSchemaSql (
  layout: Layout,
  session: Session,
  { signal, use = defaultUse, earlier = [] }: CheckContext
): Promise<string> {
  const { dialect, path, table, managed, receipts } = layout
  const catalog = await readCatalog(dialect, path, session, { signal })
  const related = addKeys(layout, use)
  const constraints = new ReferenceConstraints(session, { signal }, earlier)
  const parts: string[] = []
  if (catalog !== undefined) {
    parts.push(...compareTable(related, catalog, use).map(toSql))
    parts.push(...(await constraints.compare(related, catalog)).map(toSql))
  } else if (managed) {
    const referrers = findReferrers(layout, use.referrers ?? [])
    parts.push(toStatements([
      ...buildNewTable(related, await constraints.selectCreatable(findNewReferences(related))),
      ...(await constraints.selectEarlier(referrers)).map(buildAddForeignKey)
    ]))
  } else {
    parts.push(toComment(`The table ${table} does not exist. According to the storage option "version", ` +
      'it is not created by fastify-collections.'))
  }
  if (use.receipts && await readCatalog(dialect, receipts.path, session, { signal }) === undefined) {
    parts.push(toStatements(buildReceiptTable(layout)))
  }
  return parts.join('\n')
}

function toSql ({ what, statements, alternative: otherwise }: Difference): string {
  const sentence = `${what[0]?.toUpperCase()}${what.slice(1)}.`
  if (statements.length === 0) return toComment(`${sentence} ${otherwise}`)
  return toComment(sentence) + toStatements(statements)
}

/** A name in the text may contain a line break. */
function toComment (text: string): string {
  return `-- ${text.replaceAll(/[\r\n]+/g, ' ')}\n`
}

function toStatements (statements: readonly string[]): string {
  return statements.map((text) => `${text};\n`).join('')
}

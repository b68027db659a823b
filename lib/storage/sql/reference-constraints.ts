import type { Referrer, Storage } from '../contract.ts'
import { readCatalog, type Catalog, type CatalogColumn } from './catalog.ts'
import type { Column } from './column.ts'
import type { Difference } from './compare-table.ts'
import type { Layout } from './layout.ts'
import { buildName } from './names.ts'
import { getLayout } from './related.ts'
import type { Session, SignalContext } from './session.ts'

// Foreign keys for relations with references. The library checks these references itself, also without foreign keys.

/** A column whose values have to exist as ids of a table. */
export interface Reference {
  readonly source: Layout
  readonly column: Column
  readonly target: Layout
}

/** Finds what a table refers to, as far as it can be a foreign key. */
export function findReferences (layout: Layout): Reference[] {
  return removeRepeated(layout.keys.flatMap(({ property, references }) => {
    return references === undefined ? [] : toReferences(layout, property, getLayout(references))
  }))
}

/** Several relations can use the same property, also to different tables. */
function removeRepeated (references: readonly Reference[]): Reference[] {
  return references.filter(({ column, target }, index) => {
    return references.findIndex((other) => other.column === column && isSameTable(other.target, target)) === index
  })
}

/** Finds the foreign keys that a table is created with if the tables that it refers to exist. */
export function findNewReferences (layout: Layout): Reference[] {
  return findReferences(layout).filter(({ target }) => target.managed)
}

/** Finds what refers to a table, other than the table itself, as far as it can be a foreign key. */
export function findReferrers (layout: Layout, referrers: readonly Referrer[]): Reference[] {
  return removeRepeated(referrers.flatMap(({ storage, property }) => {
    const source = getLayout(storage)
    return source === undefined || isSameTable(source, layout) ? [] : toReferences(source, property, layout)
  }))
}

/** Returns none if the database cannot have such a foreign key, or not without effects that references do not have. */
function toReferences (source: Layout, property: string, target: Layout | undefined): Reference[] {
  const { dialect } = source
  const column = source.byProperty.get(property)
  if (column === undefined || column.kind === 'json') return []
  if (target === undefined || target.dialect !== dialect || target.id.kind !== column.kind) return []
  // An item that refers to itself can be removed, and so can two that refer to each other.
  if (dialect.catalog.checksEachRow && isSameTable(source, target)) return []
  // Foreign keys of SQLite do not lead to attached databases.
  if (dialect.catalog.inlineForeignKeys && getSchema(source) !== getSchema(target)) return []
  return [{ source, column, target }]
}

function isSameTable (one: Layout, other: Layout): boolean {
  return one.table === other.table
}

function getSchema ({ path }: Layout): string {
  return path.length > 1 ? String(path.slice(0, -1)) : 'main'
}

/** Builds a foreign key as a part of a table, or of its column. A referred row cannot be removed. */
export function buildForeignKey ({ source, column, target }: Reference, isOfTable = true): string {
  const { dialect, name } = source
  const table = dialect.catalog.inlineForeignKeys ? dialect.quote(target.name) : target.table
  const references = `REFERENCES ${table} (${target.id.sql})`
  if (!isOfTable) return references
  // A property can refer to tables of the same name in several schemas.
  const targetNames = getSchema(source) === getSchema(target) ? [target.name] : target.path
  const constraint = buildName([name, column.property, ...targetNames], 'reference')
  return `CONSTRAINT ${dialect.quote(constraint)} FOREIGN KEY (${column.sql}) ${references}`
}

/** Builds the statement that adds a foreign key to a table. */
export function buildAddForeignKey (reference: Reference): string {
  return `ALTER TABLE ${reference.source.table} ADD ${buildForeignKey(reference)}`
}

/** Finds out which foreign keys tables can have and do not have yet. */
export class ReferenceConstraints {
  readonly #session: Session
  readonly #context: SignalContext
  readonly #earlier: readonly Layout[]

  /** `earlier` are the storages whose tables are created before, by the same text. */
  constructor (session: Session, context: SignalContext, earlier: ReadonlyArray<Storage<object>> = []) {
    this.#session = session
    this.#context = context
    this.#earlier = earlier.map(getLayout).filter((layout) => layout !== undefined)
  }

  async hasTable (layout: Layout): Promise<boolean> {
    return await this.#readCatalog(layout) !== undefined
  }

  /** Selects the foreign keys that a new table can be created with. */
  async selectCreatable (references: readonly Reference[]): Promise<Reference[]> {
    return await select(references, async ({ source, target }) => {
      if (source.dialect.catalog.inlineForeignKeys) return true
      if (isSameTable(source, target) || this.#isEarlier(target)) return true
      return await this.hasTable(target)
    })
  }

  /** Selects the foreign keys that earlier tables of the same text get after this table. */
  async selectEarlier (referrers: readonly Reference[]): Promise<Reference[]> {
    return await select(referrers, async (reference) => {
      const { source } = reference
      if (source.dialect.catalog.inlineForeignKeys || !source.managed || !this.#isEarlier(source)) return false
      const catalog = await this.#readCatalog(source)
      return catalog === undefined || canBeKey(reference, catalog)
    })
  }

  /** Adds foreign keys to tables that have no rows yet. */
  async addToEmptyTables (referrers: readonly Reference[]): Promise<void> {
    for (const reference of referrers) {
      const { source } = reference
      if (source.dialect.catalog.inlineForeignKeys || !source.managed) continue
      const catalog = await this.#readCatalog(source)
      if (catalog === undefined || !canBeKey(reference, catalog)) continue
      if (await this.#hasRows(source) || await this.#hasForeignKey(reference)) continue
      try {
        await this.#session.execute(buildAddForeignKey(reference))
      } catch (error) {
        // Another process may have added it in the meantime.
        if (!await this.#hasForeignKey(reference)) throw error
      }
    }
  }

  /** Finds the foreign keys that an existing table does not have. */
  async compare (layout: Layout, catalog: Catalog): Promise<Difference[]> {
    const { dialect, table } = layout
    const missing = await select(findReferences(layout), async (reference) => {
      const { column, target } = reference
      // A view has none.
      if (catalog.indexes === undefined || await this.#hasForeignKey(reference)) return false
      const found = catalog.columns.get(dialect.catalog.foldName(column.name))
      // A new column of SQLite is added with it.
      if (found === undefined && dialect.catalog.inlineForeignKeys) return false
      const targetCatalog = isSameTable(layout, target) ? catalog : await this.#readCatalog(target)
      if (targetCatalog === undefined) return this.#isEarlier(target) && canBeKey(reference, catalog)
      return canBeKey(reference, catalog) && hasSameType(reference, found, targetCatalog)
    })
    return missing.map((reference): Difference => ({
      what: `${reference.column.property} refers to rows of ${reference.target.table}, but the table ${table} has no ` +
        'foreign key for it, so only this app checks that they exist',
      statements: dialect.catalog.inlineForeignKeys ? [] : [buildAddForeignKey(reference)],
      alternative: 'SQLite cannot add one to a table: create a new table with it, and copy the rows.'
    }))
  }

  #isEarlier (layout: Layout): boolean {
    return this.#earlier.some((other) => isSameTable(other, layout))
  }

  async #readCatalog ({ dialect, path }: Layout): Promise<Catalog | undefined> {
    return await readCatalog(dialect, path, this.#session, this.#context)
  }

  async #hasRows ({ table }: Layout): Promise<boolean> {
    const text = `SELECT 1 FROM ${table} LIMIT 1`
    const rows = await this.#session.rows({ text, values: [], context: this.#context })
    return rows.length > 0
  }

  async #hasForeignKey ({ source: { dialect, path }, column, target }: Reference): Promise<boolean> {
    const rows = await this.#session.rows({ ...dialect.catalog.foreignKeys(path, target.path), context: this.#context })
    return rows.some(([name]) => dialect.catalog.foldName(String(name)) === dialect.catalog.foldName(column.name))
  }
}

/** Whether the column can be part of a foreign key: not LONGTEXT, as in a table that was created without relations. */
function canBeKey ({ source: { dialect }, column }: Reference, { columns }: Catalog): boolean {
  const found = columns.get(dialect.catalog.foldName(column.name))
  if (found === undefined || column.kind !== 'text' || dialect.catalog.keyLength === Infinity) return true
  return dialect.catalog.indexText(column.sql, found.type, { maxLength: Infinity, share: 1 }) === column.sql
}

/** Whether the types are equal, and the other table ensures that its ids are unique. */
function hasSameType (
  { source, target }: Reference,
  found: CatalogColumn | undefined,
  { columns, indexes = [] }: Catalog
): boolean {
  const id = target.dialect.catalog.foldName(target.id.name)
  const isUnique = indexes.some(({ unique, predicate, columns: indexed }) => {
    return unique && predicate === undefined && String([...indexed]) === id
  })
  const targetColumn = columns.get(id)
  if (!isUnique || targetColumn === undefined) return false
  if (found === undefined) return source.managed && target.managed
  return toComparable(found) === toComparable(targetColumn)
}

/** The length of a text does not matter. */
function toComparable ({ type, inexact }: CatalogColumn): string {
  return `${type.replace(/(?<=char)\(\d+\)/, '')} ${inexact}`
}

async function select (
  references: readonly Reference[],
  test: (reference: Reference) => Promise<boolean>
): Promise<Reference[]> {
  const selected: Reference[] = []
  for (const reference of references) {
    if (await test(reference)) selected.push(reference)
  }
  return selected
}

import type { Receipt, Receipts } from '../contract.ts'
import type { SqlDialect, Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { shortenName } from './names.ts'
import type { Session, SignalContext, WriteResult } from './session.ts'

/** Builds the statements that create the table of the receipts, in their order. */
export function buildReceiptTable ({ dialect, receipts: { table, path, name } }: Layout): string[] {
  const { quote, catalog: { types: { integer, text }, keyText, indexOn, inlineIndexes, tableOptions } } = dialect
  const index = shortenName(`${name}_expires_index`, [name])
  const indexed = `(${quote('expires')})`
  const lines = [
    `${quote('id')} ${keyText(43)} NOT NULL PRIMARY KEY`,
    `${quote('fingerprint')} ${keyText(43)} NOT NULL`,
    `${quote('token')} ${keyText(40)} NOT NULL`,
    `${quote('expires')} ${integer} NOT NULL`,
    `${quote('answer')} ${text}`
  ]
  if (inlineIndexes) lines.push(`INDEX ${quote(index)} ${indexed}`)
  const createTable = `CREATE TABLE IF NOT EXISTS ${table} (\n  ${lines.join(',\n  ')}\n)${tableOptions}`
  if (inlineIndexes) return [createTable]
  return [createTable, `CREATE INDEX IF NOT EXISTS ${indexOn(index, path)} ${indexed}`]
}

/** The statements on the table of the receipts. */
export class ReceiptStatements {
  readonly dialect: SqlDialect
  readonly insert: string
  readonly find: string
  readonly takeOver: string
  readonly keep: string
  readonly release: string
  readonly sweep: string

  constructor ({ dialect, receipts: { table } }: Layout) {
    const { quote, placeholder: bound } = dialect
    const id = quote('id')
    const fingerprint = quote('fingerprint')
    const token = quote('token')
    const expires = quote('expires')
    const answer = quote('answer')
    this.dialect = dialect
    this.insert = `INSERT INTO ${table} (${id}, ${fingerprint}, ${token}, ${expires}) ` +
      `VALUES (${bound(1)}, ${bound(2)}, ${bound(3)}, ${bound(4)})`
    // Otherwise the replay of a write that no standby has confirmed would report it as done.
    this.find = `SELECT ${id}, ${fingerprint}, ${token}, ${expires}, ${answer} FROM ${table} ` +
      `WHERE ${id} = ${bound(1)}${dialect.confirmed}`
    this.takeOver = `UPDATE ${table} SET ${fingerprint} = ${bound(1)}, ${token} = ${bound(2)}, ` +
      `${expires} = ${bound(3)}, ${answer} = NULL ` +
      `WHERE ${id} = ${bound(4)} AND ${token} = ${bound(5)} AND ${expires} = ${bound(6)}`
    this.keep = `UPDATE ${table} SET ${expires} = ${bound(1)}, ${answer} = ${bound(2)} ` +
      `WHERE ${id} = ${bound(3)} AND ${token} = ${bound(4)} AND ${answer} IS NULL`
    this.release = `DELETE FROM ${table} WHERE ${id} = ${bound(1)} AND ${token} = ${bound(2)} AND ${answer} IS NULL`
    this.sweep = `DELETE FROM ${table} WHERE ${expires} <= ${bound(1)}`
  }
}

/** The receipts of a session: that of the storage, or that of a transaction. */
export class SqlReceipts implements Receipts {
  readonly now?: NonNullable<Receipts['now']>
  readonly #statements: ReceiptStatements
  readonly #session: Session

  constructor (statements: ReceiptStatements, session: Session) {
    const { clock } = statements.dialect
    if (clock !== undefined) this.now = (context) => this.#readClock(clock, context)
    this.#statements = statements
    this.#session = session
  }

  async #readClock (clock: string, context: SignalContext): Promise<number> {
    const [row] = await this.#session.rows({ text: `SELECT ${clock}`, values: [], context, recurring: true })
    return Number(row?.[0])
  }

  async claim (receipt: Receipt, now: number, context: SignalContext): Promise<Receipt | undefined> {
    if (await this.#insert(receipt, context)) return undefined
    const [row] = await this.#session.rows({
      text: this.#statements.find,
      values: [receipt.key],
      context,
      recurring: true
    })
    const existing = row && toReceipt(row)
    if (existing !== undefined && existing.expires > now) return existing
    if (existing !== undefined && await this.#takeOver(receipt, existing, context)) return undefined
    // Another request has claimed or released the key in the meantime.
    return this.claim(receipt, now, context)
  }

  async keep ({ key, token, expires, answer }: Receipt, context: SignalContext): Promise<boolean> {
    const { count } = await this.#write('keep', [expires, answer ?? null, key, token], context)
    return count === 1
  }

  async release ({ key, token }: Receipt, context: SignalContext): Promise<void> {
    await this.#write('release', [key, token], context)
  }

  async sweep (expired: number, context: SignalContext): Promise<void> {
    await this.#write('sweep', [expired], context)
  }

  /** Returns false if the key exists: the primary key decides between parallel requests. */
  async #insert ({ key, fingerprint, token, expires }: Receipt, context: SignalContext): Promise<boolean> {
    try {
      await this.#write('insert', [key, fingerprint, token, expires], context)
      return true
    } catch (error) {
      const violation = this.#statements.dialect.errors.parseViolation(error)
      if (typeof violation === 'object' && ('columns' in violation || 'constraint' in violation)) return false
      throw error
    }
  }

  /** Replaces an expired claim, unless another request has replaced it, or its own request has been answered. */
  async #takeOver (
    { fingerprint, token, expires }: Receipt,
    expired: Receipt,
    context: SignalContext
  ): Promise<boolean> {
    const values = [fingerprint, token, expires, expired.key, expired.token, expired.expires]
    const { count } = await this.#write('takeOver', values, context)
    return count === 1
  }

  #write (
    statement: 'insert' | 'takeOver' | 'keep' | 'release' | 'sweep',
    values: Value[],
    context: SignalContext
  ): Promise<WriteResult> {
    return this.#session.write({ text: this.#statements[statement], values, context, recurring: true })
  }
}

function toReceipt (row: Row): Receipt {
  const [id, fingerprint, token, expires, answer] = row
  return {
    key: String(id),
    fingerprint: String(fingerprint),
    token: String(token),
    expires: Number(expires),
    answer: answer === null ? undefined : String(answer)
  }
}

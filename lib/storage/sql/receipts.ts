import type { Context, Receipt, Receipts } from '../contract.ts'
import type { Dialect, Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import type { Session, Written } from './session.ts'

/** The statements that make the table of the receipts, in their order. */
export function createReceipts ({ dialect, receipts: { table, path, name } }: Layout): string[] {
  const { types: { integer, text }, keyText, quote, indexOn, inlineIndexes, tableOptions } = dialect
  const index = `${name}_expires_index`.slice(-60)
  const indexed = `(${quote('expires')})`
  const lines = [
    `${quote('id')} ${keyText(43)} NOT NULL PRIMARY KEY`,
    `${quote('fingerprint')} ${keyText(43)} NOT NULL`,
    `${quote('token')} ${keyText(40)} NOT NULL`,
    `${quote('expires')} ${integer} NOT NULL`,
    `${quote('answer')} ${text}`,
    ...inlineIndexes ? [`INDEX ${quote(index)} ${indexed}`] : []
  ]
  const made = `CREATE TABLE IF NOT EXISTS ${table} (\n  ${lines.join(',\n  ')}\n)${tableOptions}`
  return inlineIndexes ? [made] : [made, `CREATE INDEX IF NOT EXISTS ${indexOn(index, path)} ${indexed}`]
}

/** What is asked of the table of the receipts, written once. */
export class ReceiptStatements {
  readonly dialect: Dialect
  readonly insert: string
  readonly find: string
  readonly succeed: string
  readonly keep: string
  readonly release: string
  readonly sweep: string

  constructor ({ dialect, receipts: { table } }: Layout) {
    const { quote, placeholder: bound } = dialect
    const [id, fingerprint, token, expires, answer] = [quote('id'), quote('fingerprint'), quote('token'), quote('expires'), quote('answer')]
    this.dialect = dialect
    this.insert = `INSERT INTO ${table} (${id}, ${fingerprint}, ${token}, ${expires}) VALUES (${bound(1)}, ${bound(2)}, ${bound(3)}, ${bound(4)})`
    this.find = `SELECT ${id}, ${fingerprint}, ${token}, ${expires}, ${answer} FROM ${table} WHERE ${id} = ${bound(1)}`
    this.succeed = `UPDATE ${table} SET ${fingerprint} = ${bound(1)}, ${token} = ${bound(2)}, ${expires} = ${bound(3)}, ${answer} = NULL WHERE ${id} = ${bound(4)} AND ${token} = ${bound(5)} AND ${expires} = ${bound(6)}`
    this.keep = `UPDATE ${table} SET ${expires} = ${bound(1)}, ${answer} = ${bound(2)} WHERE ${id} = ${bound(3)} AND ${token} = ${bound(4)} AND ${answer} IS NULL`
    this.release = `DELETE FROM ${table} WHERE ${id} = ${bound(1)} AND ${token} = ${bound(2)} AND ${answer} IS NULL`
    this.sweep = `DELETE FROM ${table} WHERE ${expires} <= ${bound(1)}`
  }
}

type Within = Pick<Context, 'signal'>

/** The receipts as a session has them: that of the storage, or that of a transaction. */
export class SqlReceipts implements Receipts {
  readonly #statements: ReceiptStatements
  readonly #session: Session

  constructor (statements: ReceiptStatements, session: Session) {
    this.#statements = statements
    this.#session = session
  }

  async claim (receipt: Receipt, now: number, context: Within): Promise<Receipt | undefined> {
    if (await this.#insert(receipt, context)) return undefined
    const [row] = await this.#session.rows({ text: this.#statements.find, values: [receipt.key], context, recurring: true })
    const standing = row && receiptOf(row)
    if (standing !== undefined && standing.expires > now) return standing
    if (standing !== undefined && await this.#succeed(receipt, standing, context)) return undefined
    // Another has ended or begun in between.
    return this.claim(receipt, now, context)
  }

  async keep ({ key, token, expires, answer }: Receipt, context: Within): Promise<boolean> {
    const { count } = await this.#write('keep', [expires, answer ?? null, key, token], context)
    return count === 1
  }

  async release ({ key, token }: Receipt, context: Within): Promise<void> {
    await this.#write('release', [key, token], context)
  }

  async sweep (expired: number, context: Within): Promise<void> {
    await this.#write('sweep', [expired], context)
  }

  /** The key of the table decides between those who come at the same time. */
  async #insert ({ key, fingerprint, token, expires }: Receipt, context: Within): Promise<boolean> {
    try {
      await this.#write('insert', [key, fingerprint, token, expires], context)
      return true
    } catch (error) {
      const violation = this.#statements.dialect.violation(error)
      if (violation === undefined || (typeof violation === 'object' && 'unstorable' in violation)) throw error
      return false
    }
  }

  /** Takes the place of one that has expired, unless another has done so, or its own request is done after all. */
  async #succeed ({ fingerprint, token, expires }: Receipt, expired: Receipt, context: Within): Promise<boolean> {
    const { count } = await this.#write('succeed', [fingerprint, token, expires, expired.key, expired.token, expired.expires], context)
    return count === 1
  }

  #write (statement: 'insert' | 'succeed' | 'keep' | 'release' | 'sweep', values: Value[], context: Within): Promise<Written> {
    return this.#session.write({ text: this.#statements[statement], values, context, recurring: true })
  }
}

function receiptOf ([id, fingerprint, token, expires, answer]: Row): Receipt {
  return { key: String(id), fingerprint: String(fingerprint), token: String(token), expires: Number(expires), answer: answer === null ? undefined : String(answer) }
}

import type { Receipt, Receipts } from '../contract.ts'

/** Receipts by their keys: of the storage itself, or of a transaction over it. */
export class Ledger implements Receipts {
  readonly #below: Ledger | undefined
  readonly #receipts = new Map<string, Receipt>()

  constructor (below?: Ledger) {
    this.#below = below
  }

  async claim (receipt: Receipt, now: number): Promise<Receipt | undefined> {
    const standing = this.find(receipt.key)
    if (standing !== undefined && standing.expires > now) return standing
    this.set(receipt)
    return undefined
  }

  async keep (receipt: Receipt): Promise<boolean> {
    const held = this.#holds(receipt)
    if (held) this.set(receipt)
    return held
  }

  async release (receipt: Receipt): Promise<void> {
    if (this.#holds(receipt)) this.#receipts.delete(receipt.key)
  }

  async sweep (expired: number): Promise<void> {
    for (const { key, expires } of this.#receipts.values()) if (expires <= expired) this.#receipts.delete(key)
  }

  find (key: string): Receipt | undefined {
    return this.#receipts.get(key) ?? this.#below?.find(key)
  }

  set (receipt: Receipt): void {
    this.#receipts.set(receipt.key, receipt)
  }

  commit (): void {
    for (const receipt of this.#receipts.values()) this.#below?.set(receipt)
  }

  #holds ({ key, token }: Receipt): boolean {
    const standing = this.find(key)
    return standing?.token === token && standing.answer === undefined
  }
}

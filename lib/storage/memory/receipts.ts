import type { Receipt, Receipts } from '../contract.ts'

/** Receipts by key: those of the storage, or those of a transaction over it. */
export class MemoryReceipts implements Receipts {
  readonly #outer: MemoryReceipts | undefined
  readonly #receipts = new Map<string, Receipt>()

  constructor (outer?: MemoryReceipts) {
    this.#outer = outer
  }

  async claim (receipt: Receipt, now: number): Promise<Receipt | undefined> {
    const existing = this.find(receipt.key)
    if (existing !== undefined && existing.expires > now) return existing
    this.set(receipt)
    return undefined
  }

  async keep (receipt: Receipt): Promise<boolean> {
    if (!this.#hasClaim(receipt)) return false
    this.set(receipt)
    return true
  }

  async release (receipt: Receipt): Promise<void> {
    if (this.#hasClaim(receipt)) this.#receipts.delete(receipt.key)
  }

  async sweep (expired: number): Promise<void> {
    for (const { key, expires } of this.#receipts.values()) {
      if (expires <= expired) this.#receipts.delete(key)
    }
  }

  find (key: string): Receipt | undefined {
    return this.#receipts.get(key) ?? this.#outer?.find(key)
  }

  set (receipt: Receipt): void {
    this.#receipts.set(receipt.key, receipt)
  }

  commit (): void {
    for (const receipt of this.#receipts.values()) this.#outer?.set(receipt)
  }

  #hasClaim ({ key, token }: Receipt): boolean {
    const existing = this.find(key)
    return existing?.token === token && existing.answer === undefined
  }
}

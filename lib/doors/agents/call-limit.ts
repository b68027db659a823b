const minute = 60_000

/** Beyond this many callers, those that came first begin again. */
const maxCallers = 10_000

interface Window {
  readonly endsAt: number
  calls: number
}

/** Limits how many tools a caller can call in a minute, in this process. */
export class CallLimit {
  readonly #maximum: number
  readonly #windows = new Map<string, Window>()

  constructor (maximum: number) {
    this.#maximum = maximum
  }

  /** Counts a call. Returns how many seconds to wait; undefined if the call is within the limit. */
  count (caller: string, now = performance.now()): number | undefined {
    let window = this.#windows.get(caller)
    if (window === undefined || window.endsAt <= now) {
      // At the end, since its minute is the last to end.
      this.#windows.delete(caller)
      this.#windows.set(caller, window = { endsAt: now + minute, calls: 0 })
      if (this.#windows.size > maxCallers) this.#windows.delete(this.#windows.keys().next().value!)
    }
    window.calls++
    return window.calls > this.#maximum ? Math.ceil((window.endsAt - now) / 1000) : undefined
  }
}

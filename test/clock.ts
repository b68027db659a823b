// The clock of the process, for what depends on minutes, or on clocks that differ.

interface Ending {
  teardown(restore: () => void): void
}

export interface Clock {
  /** Sets the clock forward by milliseconds, or back. */
  advance(milliseconds: number): void
}

/** Takes over Date.now() until the test ends. */
export function controlClock (t: Ending): Clock {
  const { now } = Date
  let offset = 0
  Date.now = () => now() + offset
  t.teardown(() => {
    Date.now = now
  })
  return {
    advance (milliseconds) {
      offset += milliseconds
    }
  }
}

// Whether the cost of something grows in proportion to its input, by CPU time, so that a slow or busy machine does
// not matter.

const runs = 5

async function cost (run: () => unknown): Promise<number> {
  let least = Infinity
  for (let count = 0; count < runs; count++) {
    const start = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(start)
    least = Math.min(least, user + system)
  }
  return least
}

/** In microseconds. Less than this says nothing about growth. */
const negligible = 20_000

const attempts = 3

/**
 * Four times the input takes about 4 times as long if the cost is linear, and 16 times if it is quadratic. Garbage
 * collection on other threads counts as well, so a single measurement can be wrong.
 */
export async function isProportional (run: (size: number) => unknown, size: number): Promise<boolean> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const large = await cost(() => run(4 * size))
    if (large < negligible || large < 9 * (await cost(() => run(size)))) return true
  }
  return false
}

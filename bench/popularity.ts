/**
 * Draws `count` of so many choices, the same in every process. The first choice is the most popular one: the nth is
 * drawn an nth as often (Zipf's law, which requests of web servers follow).
 */
export function drawPopular (choices: number, count: number): number[] {
  let sum = 0
  const sums = Array.from({ length: choices }, (_, index) => (sum += 1 / (index + 1)))
  let state = 1
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const drawn = (state / 2 ** 32) * sum
    return sums.findIndex((end) => drawn < end)
  })
}

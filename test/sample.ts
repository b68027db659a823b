import { noServers } from './storage/databases.ts'

// Large matrices and random tests take long: `npm test` has a fixed sample of them, `npm run test:all` all.

/** Returns every nth element of a matrix, from the one at an offset. */
export function sample<Element> (all: readonly Element[], every: number, offset: number): readonly Element[] {
  return noServers === false ? all : all.filter((_, index) => index % every === offset)
}

/** Returns the parameters of fast-check for a property that `npm run test:all` checks this many times. */
export function sampleRuns (numRuns: number): { numRuns: number, seed?: number } {
  return noServers === false ? { numRuns } : { numRuns: Math.ceil(numRuns / 8), seed: 42 }
}

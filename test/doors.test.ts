import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { test } from 'tap'
import { combinations, serve } from './doors/collections.ts'
import type { Served, Variant } from './doors/collections.ts'
import { makeCall, sendRequest, steps } from './doors/steps.ts'
import type { Step } from './doors/steps.ts'

// What every action does over HTTP and from code, with each feature and each pair of features: the result, the rules
// and hooks in their order, and the calls of the storage or the statements. All of it stays as it was recorded. After
// an intended change, record it again and read the diff:
// RECORD=true npx tap run --disable-coverage test/doors.test.ts

const variants: readonly Variant[] = [
  { storage: 'memory', hasRules: false },
  { storage: 'memory', hasRules: true },
  { storage: 'SQLite', hasRules: false },
  { storage: 'SQLite', hasRules: true }
]

interface Door {
  readonly name: string
  readonly isFor: (variant: Variant) => boolean
  /** Takes a step; undefined if this door has nothing like it. */
  readonly take: (served: Served, step: Step) => Promise<string> | undefined
}

const doors: readonly Door[] = [
  {
    name: 'HTTP',
    isFor: () => true,
    take: (served, { request }) => request && sendRequest(served, request)
  },
  {
    name: 'code, as the app',
    isFor: () => true,
    take: (served, { call, caller }) => call && makeCall(served, call, caller === undefined ? {} : { caller })
  },
  {
    name: 'code, for a caller',
    isFor: ({ hasRules }) => hasRules,
    take: (served, { call, caller = 'root' }) => call && makeCall(served, call, { caller })
  }
]

for (const variant of variants) {
  for (const door of doors.filter(({ isFor }) => isFor(variant))) {
    const title = `${variant.storage}, ${variant.hasRules ? 'with' : 'without'} rules and hooks, ${door.name}`
    test(title, async (t) => {
      const observed = await observeAll(variant, door)
      const file = new URL(`doors/recorded/${title.replaceAll(/,? /g, '-')}.txt`, import.meta.url)
      if (process.env.RECORD === 'true') writeFileSync(file, observed.join('\n'))
      const recorded = existsSync(file) ? readFileSync(file, 'utf8').split('\n== ') : []
      for (const [index, section] of observed.join('\n').split('\n== ').entries()) {
        t.equal(section, recorded[index], section.split('\n', 1)[0]!)
      }
      t.equal(observed.length, recorded.length, 'the number of steps')
    })
  }
}

/** Takes every step with every combination of features. Returns a section for each step. */
async function observeAll (variant: Variant, door: Door): Promise<string[]> {
  const observations = steps.map(() => new Map<string, string[]>())
  for (const names of combinations) {
    const served = await serve(names, variant)
    for (const [index, step] of steps.entries()) {
      const result = await door.take(served, step)
      if (result === undefined) continue
      // What a request leaves behind, such as the removal of expired receipts, belongs to it.
      await setImmediate()
      const { functions, storage } = served.takeEvents()
      const observation = `${result}\n  called: ${functions}\n  storage: ${storage}`
      const combinationsWithIt = observations[index]!.get(observation) ?? []
      observations[index]!.set(observation, [...combinationsWithIt, names.join(' + ') || 'no feature'])
    }
    await served.close()
  }
  return observations.flatMap((byObservation, index) => {
    if (byObservation.size === 0) return []
    return [`== ${steps[index]!.title}\n${describeObservations(byObservation)}`]
  })
}

/** The most common observation comes first, without the combinations that lead to it. */
function describeObservations (byObservation: ReadonlyMap<string, readonly string[]>): string {
  const [[common] = [''], ...others] = [...byObservation].sort(([, a], [, b]) => b.length - a.length)
  return [
    `${common}\n`,
    ...others.map(([observation, combinationsWithIt]) => `with ${combinationsWithIt.join(', ')}:\n${observation}\n`)
  ].join('\n')
}

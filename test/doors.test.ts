import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { test } from 'tap'
import { combinations, serve } from './doors/collections.ts'
import type { Served, Variant } from './doors/collections.ts'
import { makeCall, sendRequest, steps } from './doors/steps.ts'
import type { Step } from './doors/steps.ts'
import { sample } from './sample.ts'

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

for (const [offset, variant] of variants.entries()) {
  // Each variant has other combinations.
  const sampled = sample(combinations, 8, offset)
  for (const door of doors.filter(({ isFor }) => isFor(variant))) {
    const title = `${variant.storage}, ${variant.hasRules ? 'with' : 'without'} rules and hooks, ${door.name}`
    test(title, async (t) => {
      const observations = await observeAll({ variant, door, combinations: sampled })
      const file = new URL(`doors/recorded/${title.replaceAll(/,? /g, '-')}.txt`, import.meta.url)
      if (process.env.RECORD === 'true') writeFileSync(file, describeAll(observations))
      const recorded = existsSync(file) ? readFileSync(file, 'utf8').split('\n== ') : []
      if (sampled.length === combinations.length) {
        const sections = describeAll(observations).split('\n== ')
        for (const [index, section] of sections.entries()) {
          t.equal(section, recorded[index], section.split('\n', 1)[0]!)
        }
        t.equal(sections.length, recorded.length, 'the number of steps')
        return
      }
      const byTitle = new Map(recorded.map((section) => [section.replace(/^== /, '').split('\n', 1)[0]!, section]))
      for (const { title, byObservation } of observations) {
        for (const [observation, names] of byObservation) {
          for (const name of names) {
            t.equal(observation.trimEnd(), findRecorded(byTitle.get(title), name), `${title}, ${name}`)
          }
        }
      }
    })
  }
}

interface Observations {
  /** That of the step. */
  readonly title: string
  /** The combinations that lead to each observation. */
  readonly byObservation: Map<string, string[]>
}

interface Matrix {
  readonly variant: Variant
  readonly door: Door
  readonly combinations: ReadonlyArray<readonly string[]>
}

/** Takes every step with each of these combinations of features. */
async function observeAll ({ variant, door, combinations }: Matrix): Promise<Observations[]> {
  const observations = steps.map(({ title }) => ({ title, byObservation: new Map<string, string[]>() }))
  for (const names of combinations) {
    const served = await serve(names, variant)
    for (const [index, step] of steps.entries()) {
      const result = await door.take(served, step)
      if (result === undefined) continue
      // What a request leaves behind, such as the removal of expired receipts, belongs to it.
      await setImmediate()
      const { functions, storage } = served.takeEvents()
      const observation = `${result}\n  called: ${functions}\n  storage: ${storage}`
      const { byObservation } = observations[index]!
      const combinationsWithIt = byObservation.get(observation) ?? []
      byObservation.set(observation, [...combinationsWithIt, names.join(' + ') || 'no feature'])
    }
    await served.close()
  }
  return observations.filter(({ byObservation }) => byObservation.size > 0)
}

/** A section for each step. */
function describeAll (observations: readonly Observations[]): string {
  return observations.map(({ title, byObservation }) => `== ${title}\n${describeObservations(byObservation)}`).join('\n')
}

/** Returns what a section has for a combination. */
function findRecorded (section: string | undefined, combination: string): string | undefined {
  const [first = '', ...others] = section?.split(/^with (.*):$/m) ?? []
  const found = others.findIndex((names, index) => index % 2 === 0 && names.split(', ').includes(combination))
  return found < 0 ? first.slice(first.indexOf('\n') + 1).trimEnd() : others[found + 1]?.slice(1).trimEnd()
}

/** The most common observation comes first, without the combinations that lead to it. */
function describeObservations (byObservation: ReadonlyMap<string, readonly string[]>): string {
  const [[common] = [''], ...others] = [...byObservation].sort(([, a], [, b]) => b.length - a.length)
  return [
    `${common}\n`,
    ...others.map(([observation, combinationsWithIt]) => `with ${combinationsWithIt.join(', ')}:\n${observation}\n`)
  ].join('\n')
}

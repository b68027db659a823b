import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { serve } from './databases.ts'
import { allocation, isAwake, measure, profile, type Contender, type Course, type Sample } from './measure.ts'
import { markdown, text } from './printer.ts'
import { end, heard, launch, launchServer } from './process.ts'
import { machine, print, result, summary, type Result } from './report.ts'
import { install, peers } from './peers.ts'
import { scenarioOf } from './scenarios.ts'
import { settings, usage, type Settings } from './settings.ts'
import { lacking, lackingByHand } from './storages.ts'

async function contend (name: string, { store, byHand }: Settings): Promise<Contender> {
  const server = launchServer([name, store, '1000', '0', byHand ? 'by hand' : ''])
  try {
    return { name, server, port: (await heard<{ port: number }>(server)).port }
  } catch (error) {
    await end(server)
    throw error
  }
}

async function contendAll (names: string[], chosen: Settings) {
  const contenders: Contender[] = []
  for (const name of names) {
    try {
      contenders.push(await contend(name, chosen))
    } catch (error) {
      console.error(`${name} is left out, it does not start: ${error instanceof Error ? error.message : error}`)
    }
  }
  return contenders
}

interface Gathered {
  course: Course
  samples: Map<string, Sample[]>
  allocated: Map<string, number>
}

/**
 * In so many parts, each with connections of its own: the first that close undo some of what was compiled, and a
 * second goes by until that is mended.
 */
const warmups = 4

async function gather (
  driver: ChildProcess,
  contenders: Contender[],
  { course, samples, allocated }: Gathered,
  { warmup, rounds, duration }: Settings
) {
  for (let part = 0; part < warmups; part++) {
    for (const contender of contenders) await measure(driver, contender, { ...course, seconds: warmup / warmups })
  }
  for (let round = 0; round < rounds; round++) {
    // There and back, so that it is nobody's advantage to come last.
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      samples.set(contender.name, [...(samples.get(contender.name) ?? []), await measure(driver, contender, course)])
    }
  }
  for (const contender of contenders) {
    allocated.set(contender.name, await allocation(driver, contender, { ...course, seconds: duration / 2 }))
  }
}

async function profileAll (
  driver: ChildProcess,
  contenders: Contender[],
  { course, folder }: { course: Course; folder: string }
) {
  mkdirSync(folder, { recursive: true })
  for (const contender of contenders) {
    const file = resolve(
      folder,
      `${contender.name} ${course.scenario} ${course.connections}.cpuprofile`.replaceAll(' ', '-')
    )
    await profile(driver, contender, { file, course: { ...course, seconds: 4 } })
  }
}

const chosen = settings(process.argv.slice(2))
if (chosen === undefined) {
  console.log(usage)
} else {
  install(chosen.contestants.filter((name) => Object.hasOwn(peers, name)))
  const results: Result[] = []
  const about = machine(chosen)
  const quiet = chosen.json || chosen.markdown
  if (!quiet) console.log(Object.values(about).join(' · '))
  const close = await serve([chosen.store])
  const driver = launch('driver.ts', { core: 1 })
  for (const scenario of chosen.scenarios) {
    if ((chosen.byHand ? lackingByHand : lacking)[chosen.store]?.includes(scenario) === true) continue
    const names = chosen.contestants.filter((name) => scenarioOf(name, scenario) !== undefined)
    const courses = chosen.connections.map((connections): Gathered => ({
      course: {
        scenario,
        table: 'scenarios',
        connections,
        items: 1000,
        seconds: chosen.duration,
        awake: isAwake(chosen.store)
      },
      samples: new Map(),
      allocated: new Map()
    }))
    for (let launched = 0; launched < chosen.launches; launched++) {
      const contenders = await contendAll(launched % 2 === 0 ? names : names.toReversed(), chosen)
      for (const course of courses) await gather(driver, contenders, course, chosen)
      if (chosen.profile !== undefined) {
        for (const { course } of courses) await profileAll(driver, contenders, { course, folder: chosen.profile })
      }
      for (const { server } of contenders) await end(server)
    }
    for (const { course, samples, allocated } of courses) {
      const one = result(course, samples, allocated)
      results.push(one)
      if (!quiet) print(one)
    }
  }
  await end(driver)
  await close()
  if (chosen.json) console.log(JSON.stringify({ about, results }, undefined, 2))
  else summary(results, chosen.contestants, chosen.markdown ? markdown : text)
  if (chosen.markdown) markdown.note(`${Object.values(about).join(' · ')}.`)
}

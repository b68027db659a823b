import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { serve } from './databases.ts'
import {
  isAwake,
  measure,
  measureAllocation,
  writeProfile,
  type Contender,
  type Sample,
  type Workload
} from './measure.ts'
import { markdown, text } from './printer.ts'
import { end, launch, launchServer, receive } from './process.ts'
import { machine, print, result, summary, type Result } from './report.ts'
import { install, peers } from './peers.ts'
import { getScenario } from './scenarios.ts'
import { settings, usage, type Settings } from './settings.ts'
import { lacking, lackingHandWritten } from './storages.ts'

async function startContender (name: string, { store, handWritten }: Settings): Promise<Contender> {
  const server = launchServer([name, store, '1000', '0', handWritten ? 'by hand' : ''])
  try {
    return { name, server, port: (await receive<{ port: number }>(server)).port }
  } catch (error) {
    await end(server)
    throw error
  }
}

async function startContenders (names: string[], chosen: Settings) {
  const contenders: Contender[] = []
  for (const name of names) {
    try {
      contenders.push(await startContender(name, chosen))
    } catch (error) {
      console.error(`${name} is left out, it does not start: ${error instanceof Error ? error.message : error}`)
    }
  }
  return contenders
}

interface Measurement {
  workload: Workload
  samples: Map<string, Sample[]>
  allocated: Map<string, number>
}

/**
 * The number of parts, each with new connections: the first that close deoptimize some compiled code, and it
 * takes a second until it is optimized again.
 */
const warmups = 4

async function gather (
  driver: ChildProcess,
  contenders: Contender[],
  { workload, samples, allocated }: Measurement,
  { warmup, rounds, duration }: Settings
) {
  for (let part = 0; part < warmups; part++) {
    for (const contender of contenders) await measure(driver, contender, { ...workload, seconds: warmup / warmups })
  }
  for (let round = 0; round < rounds; round++) {
    // In alternating order, so that no contestant has the advantage of being last.
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      samples.set(contender.name, [...(samples.get(contender.name) ?? []), await measure(driver, contender, workload)])
    }
  }
  for (const contender of contenders) {
    allocated.set(contender.name, await measureAllocation(driver, contender, { ...workload, seconds: duration / 2 }))
  }
}

async function profileAll (
  driver: ChildProcess,
  contenders: Contender[],
  { workload, folder }: { workload: Workload; folder: string }
) {
  mkdirSync(folder, { recursive: true })
  for (const contender of contenders) {
    const file = resolve(
      folder,
      `${contender.name} ${workload.scenario} ${workload.connections}.cpuprofile`.replaceAll(' ', '-')
    )
    await writeProfile(driver, contender, { file, workload: { ...workload, seconds: 4 } })
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
    if ((chosen.handWritten ? lackingHandWritten : lacking)[chosen.store]?.includes(scenario) === true) continue
    const names = chosen.contestants.filter((name) => getScenario(name, scenario) !== undefined)
    const measurements = chosen.connections.map((connections): Measurement => ({
      workload: {
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
      const contenders = await startContenders(launched % 2 === 0 ? names : names.toReversed(), chosen)
      for (const measurement of measurements) await gather(driver, contenders, measurement, chosen)
      if (chosen.profile !== undefined) {
        for (const { workload } of measurements) {
          await profileAll(driver, contenders, { workload, folder: chosen.profile })
        }
      }
      for (const { server } of contenders) await end(server)
    }
    for (const { workload, samples, allocated } of measurements) {
      const one = result(workload, samples, allocated)
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

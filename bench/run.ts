import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { serve } from './databases.ts'
import { allocation, measure, profile, type Contender, type Course, type Sample } from './measure.ts'
import { markdown, text } from './printer.ts'
import { end, heard, launch } from './process.ts'
import { machine, print, result, summary, type Result } from './report.ts'
import { install, peers } from './peers.ts'
import { scenarioOf } from './scenarios.ts'
import { settings, usage, type Settings } from './settings.ts'
import { lacking, lackingByHand } from './storages.ts'

async function contend (name: string, { store, byHand }: Settings): Promise<Contender> {
  const server = launch('server.ts', { args: [name, store, '1000', '0', byHand ? 'by hand' : ''], core: 0 })
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

async function compare (driver: ChildProcess, contenders: Contender[], { course, chosen }: { course: Course, chosen: Settings }) {
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]))
  for (const contender of contenders) await measure(driver, contender, { ...course, seconds: chosen.warmup })
  for (let round = 0; round < chosen.rounds; round++) {
    for (const contender of contenders) samples.get(contender.name)!.push(await measure(driver, contender, course))
  }
  const allocated = new Map<string, number>()
  for (const contender of contenders) allocated.set(contender.name, await allocation(driver, contender, { ...course, seconds: chosen.duration / 2 }))
  return result(course, samples, allocated)
}

async function profileAll (driver: ChildProcess, contenders: Contender[], { course, folder }: { course: Course, folder: string }) {
  mkdirSync(folder, { recursive: true })
  for (const contender of contenders) {
    const file = resolve(folder, `${contender.name} ${course.scenario} ${course.connections}.cpuprofile`.replaceAll(' ', '-'))
    await profile(driver, contender, { file, course: { ...course, seconds: 4 } })
  }
}

const chosen = settings(process.argv.slice(2))
if (chosen === undefined) {
  console.log(usage)
} else {
  install(chosen.contestants.filter(name => Object.hasOwn(peers, name)))
  const results: Result[] = []
  const about = machine(chosen)
  const quiet = chosen.json || chosen.markdown
  if (!quiet) console.log(Object.values(about).join(' · '))
  const close = await serve([chosen.store])
  const driver = launch('driver.ts', { core: 1 })
  for (const scenario of chosen.scenarios) {
    if ((chosen.byHand ? lackingByHand : lacking)[chosen.store]?.includes(scenario) === true) continue
    const names = chosen.contestants.filter(name => scenarioOf(name, scenario) !== undefined)
    const contenders = await contendAll(names, chosen)
    for (const connections of chosen.connections) {
      const course: Course = { scenario, table: 'scenarios', connections, items: 1000, seconds: chosen.duration }
      const one = await compare(driver, contenders, { course, chosen })
      results.push(one)
      if (!quiet) print(one)
      if (chosen.profile !== undefined) await profileAll(driver, contenders, { course, folder: chosen.profile })
    }
    for (const { server } of contenders) await end(server)
  }
  await end(driver)
  await close()
  if (chosen.json) console.log(JSON.stringify({ about, results }, undefined, 2))
  else summary(results, chosen.contestants, chosen.markdown ? markdown : text)
  if (chosen.markdown) markdown.note(`${Object.values(about).join(' · ')}.`)
}

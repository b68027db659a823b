import { parseArgs } from 'node:util'
import { contestants } from './contestants.ts'
import { peers } from './peers.ts'
import { commonScenarios, scenarios } from './scenarios.ts'
import { storages } from './storages.ts'

export interface Settings {
  contestants: string[]
  scenarios: string[]
  connections: number[]
  /** How often each server is started: two processes of one program are not equally fast. */
  launches: number
  /** Of each launch. */
  rounds: number
  duration: number
  warmup: number
  store: string
  handWritten: boolean
  profile: string | undefined
  json: boolean
  markdown: boolean
}

const usual = {
  scenarios: commonScenarios.join(),
  connections: '1,64',
  launches: '3',
  rounds: '3',
  duration: '1',
  warmup: '4'
}
const quick = {
  scenarios: 'get,list,create',
  connections: '64',
  launches: '2',
  rounds: '5',
  duration: '0.5',
  warmup: '4'
}

export const usage = `npm run bench -- [--quick] [--peers] [--by-hand] [--json] [--markdown] [--profile folder]
  --contestants ${Object.keys(contestants).join()}; with --peers ${Object.keys(peers).join()},ours
  --scenarios   ${usual.scenarios}
  --connections ${usual.connections}
  --launches    ${usual.launches} (processes of each contestant and scenario, one after the other)
  --rounds      ${usual.rounds} (of each launch)
  --duration    ${usual.duration} (seconds per contestant and round)
  --warmup      ${usual.warmup} (seconds per contestant and launch)
  --store       ${Object.keys(storages).join(' or ')}, the same for all; with --by-hand, the hand-written contestants speak to it by hand`

function checkNames (text: string, table: object) {
  const names = text.split(',')
  for (const name of names) {
    if (!Object.hasOwn(table, name)) throw new Error(`${name} is none of ${Object.keys(table).join()}`)
  }
  return names
}

export function settings (args: string[]): Settings | undefined {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    args,
    options: {
      contestants: text,
      scenarios: text,
      connections: text,
      launches: text,
      rounds: text,
      duration: text,
      warmup: text,
      store: text,
      profile: text,
      quick: flag,
      peers: flag,
      'by-hand': flag,
      json: flag,
      markdown: flag,
      help: flag
    }
  })
  if (values.help) return
  const all = { ...contestants, ...peers }
  const store = checkNames(values.store ?? 'memory', storages)[0]!
  const rivals = Object.keys(peers).filter((name) => peers[name]!.stores.includes(store))
  const names = values.peers ? [...rivals, 'ours'] : Object.keys(contestants)
  const chosen = { ...(values.quick ? quick : usual), contestants: names.join(), ...values }
  return {
    contestants: checkNames(chosen.contestants, all),
    scenarios: checkNames(chosen.scenarios, scenarios),
    connections: chosen.connections.split(',').map(Number),
    launches: Number(chosen.launches),
    rounds: Number(chosen.rounds),
    duration: Number(chosen.duration),
    warmup: Number(chosen.warmup),
    store,
    handWritten: values['by-hand'],
    profile: values.profile,
    json: chosen.json,
    markdown: chosen.markdown
  }
}

import type { Boot } from './boot.ts'
import { end, launch, receive } from './process.ts'

export interface Started {
  readonly contestant: string
  readonly collections: number
  readonly boots: Boot[]
}

async function boot (name: string, collections: string): Promise<Boot> {
  const child = launch('boot.ts', { args: [name, 'memory', collections], flags: ['--expose-gc'], core: 0 })
  const report = await receive<Boot>(child)
  await end(child)
  return report
}

/** Interleaved: every contestant starts once per round. */
export async function boots (names: string[], collections: string, rounds: number): Promise<Started[]> {
  const found = names.map((contestant) => ({ contestant, collections: Number(collections), boots: new Array<Boot>() }))
  for (let round = 0; round < rounds; round++) {
    for (const { contestant, boots } of found) boots.push(await boot(contestant, collections))
  }
  return found
}

// Starts an app with as many collections as told and says what that took: a process of its own, so that nothing is
// warm.
import { app } from './contestants.ts'
import { storages } from './storages.ts'

/** `cpu` is of all threads, in milliseconds: less shaken by a busy machine than the time that passed. */
export interface Boot {
  milliseconds: number
  cpu: number
  heap: number
}

const [name = '', kind = '', count = ''] = process.argv.slice(2)

function settled () {
  for (let times = 0; times < 4; times++) globalThis.gc!()
  return process.memoryUsage().heapUsed
}

try {
  const contestant = await app(name)
  const { adapter } = await storages[kind]!()
  const warm = contestant.open()
  contestant.add(warm, 'warm', adapter)
  await warm.ready()
  await warm.close()

  const before = settled()
  const begun = performance.now()
  const used = process.cpuUsage()
  const fastify = contestant.open()
  for (let number = 0; number < Number(count); number++) contestant.add(fastify, `collection${number}`, adapter)
  await fastify.ready()
  const milliseconds = performance.now() - begun
  const { user, system } = process.cpuUsage(used)
  process.send!({ milliseconds, cpu: (user + system) / 1000, heap: settled() - before } satisfies Boot)
  // Used after it was weighed, or it could be collected before.
  await fastify.close()
} catch (error) {
  process.send!({ error: error instanceof Error ? error.message : String(error) })
}
process.disconnect()

// Starts an app with a number of collections and reports its cost, in a separate process, so that nothing is
// warm.
import { app } from './contestants.ts'
import { storages } from './storages.ts'

/** `cpu` is of all threads, in milliseconds: less affected by a busy machine than elapsed time. */
export interface Boot {
  milliseconds: number
  cpu: number
  heap: number
}

const [name = '', kind = '', count = ''] = process.argv.slice(2)

function measureHeap () {
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

  const before = measureHeap()
  const start = performance.now()
  const used = process.cpuUsage()
  const fastify = contestant.open()
  for (let number = 0; number < Number(count); number++) contestant.add(fastify, `collection${number}`, adapter)
  await fastify.ready()
  const milliseconds = performance.now() - start
  const { user, system } = process.cpuUsage(used)
  process.send!({ milliseconds, cpu: (user + system) / 1000, heap: measureHeap() - before } satisfies Boot)
  // Used after the measurement, so that it is not collected before.
  await fastify.close()
} catch (error) {
  process.send!({ error: error instanceof Error ? error.message : String(error) })
}
process.disconnect()

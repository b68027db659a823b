import type { ChildProcess } from 'node:child_process'
import type { Drive, Task } from './driver.ts'
import { ask, pinned } from './process.ts'
import type { Allocation, Usage } from './server.ts'

export interface Contender {
  name: string
  server: ChildProcess
  port: number
}

export interface Sample extends Drive {
  rate: number
  /** Microseconds of the server's CPU per turn, on all its threads. */
  cpu: number
  /**
   * Share of the time in which the server was busy: well below 1 with many connections, something else was the
   * bottleneck.
   */
  server: number
}

export interface Workload extends Omit<Task, 'port' | 'contestant'> {
  seconds: number
}

/** Whether the driver can stay awake: only if no other process, such as a database server, needs its core. */
export function isAwake (store: string): boolean {
  return pinned && store !== 'postgres'
}

export async function measure (
  driver: ChildProcess,
  { name, server, port }: Contender,
  { seconds, ...task }: Workload
): Promise<Sample> {
  await ask(driver, { open: { ...task, contestant: name, port } })
  const before = await ask<Usage>(server, { order: 'usage' })
  const drive = await ask<Drive>(driver, { drive: seconds })
  const after = await ask<Usage>(server, { order: 'usage' })
  await ask(server, { order: 'reset' })
  const cpu = after.microseconds - before.microseconds
  return { ...drive, rate: drive.turns / drive.seconds, cpu: cpu / drive.turns, server: cpu / 1e6 / drive.seconds }
}

/** Bytes per turn on V8's heap; measured separately, because counting takes time. */
export async function measureAllocation (
  driver: ChildProcess,
  { name, server, port }: Contender,
  { seconds, ...task }: Workload
) {
  await ask(driver, { open: { ...task, contestant: name, port } })
  await ask(server, { order: 'count' })
  const { turns } = await ask<Drive>(driver, { drive: seconds })
  const { bytes } = await ask<Allocation>(server, { order: 'counted' })
  await ask(server, { order: 'reset' })
  return bytes / turns
}

/** Writes a CPU profile of the steady state, without the start. */
export async function writeProfile (
  driver: ChildProcess,
  { name, server, port }: Contender,
  { file, workload: { seconds, ...task } }: { file: string; workload: Workload }
) {
  await ask(driver, { open: { ...task, contestant: name, port } })
  await ask(server, { order: 'profile' })
  await ask(driver, { drive: seconds })
  await ask(server, { order: 'profiled', file })
  await ask(server, { order: 'reset' })
}

import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import type { World } from './world.ts'

// Clocks, timers and random numbers of this process. They are those of Node.js while there is no world.

const real = {
  setTimeout,
  clearTimeout,
  setImmediate,
  getTime: Date.now,
  getRandom: Math.random,
  getElapsed: performance.now.bind(performance),
  createTimeout: AbortSignal.timeout.bind(AbortSignal),
  wait: timers.setTimeout,
  randomFillSync: crypto.randomFillSync,
  randomBytes: crypto.randomBytes,
  randomInt: crypto.randomInt,
  randomUUID: crypto.randomUUID
}

let world: World | undefined

/** Sets the world of everything that runs from now on. */
export function useWorld (next: World | undefined): void {
  world = next
}

type Callback = (...given: unknown[]) => void

function startTimer (run: Callback, delay?: number, ...given: unknown[]): object {
  return world === undefined ? real.setTimeout(run, delay, ...given) : world.setTimer(() => run(...given), delay)
}

function stopTimer (timer: NodeJS.Timeout | undefined): void {
  if (world === undefined) real.clearTimeout(timer)
  else world.clearTimer(timer)
}

function startImmediate (run: Callback, ...given: unknown[]): object {
  const current = world
  if (current === undefined) return real.setImmediate(run, ...given)
  current.immediates++
  return real.setImmediate(() => {
    current.immediates--
    run(...given)
  })
}

function fill<View extends NodeJS.ArrayBufferView> (view: View): View {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  for (let index = 0; index < bytes.length; index++) bytes[index] = world!.random.below(256)
  return view
}

function createUuid (): string {
  const digits = fill(Buffer.alloc(16)).toString('hex')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Replaces the clocks, timers and random numbers of the process. It can be called once. */
export function replaceGlobals (): void {
  Math.random = () => world === undefined ? real.getRandom() : world.random.next()
  Date.now = () => world?.now ?? real.getTime()
  performance.now = () => world?.now ?? real.getElapsed()
  Object.assign(globalThis, {
    setTimeout: startTimer,
    clearTimeout: stopTimer,
    setInterval: startTimer,
    clearInterval: stopTimer,
    setImmediate: startImmediate
  })
  AbortSignal.timeout = (delay) => {
    if (world === undefined) return real.createTimeout(delay)
    const controller = new AbortController()
    const abort = () => controller.abort(new DOMException('The operation timed out', 'TimeoutError'))
    world.setTimer(abort, delay)
    return controller.signal
  }
  Object.assign(timers, {
    setTimeout: (delay: number, value: unknown) => {
      if (world === undefined) return real.wait(delay, value)
      return new Promise((resolve) => world!.setTimer(() => resolve(value), delay))
    },
    setImmediate: (value: unknown) => new Promise((resolve) => { startImmediate(() => resolve(value)) })
  })
  Object.assign(crypto, {
    randomFillSync: (view: NodeJS.ArrayBufferView) => world === undefined ? real.randomFillSync(view) : fill(view),
    randomBytes: (size: number) => world === undefined ? real.randomBytes(size) : fill(Buffer.alloc(size)),
    randomInt: (limit: number) => world === undefined ? real.randomInt(limit) : world.random.below(limit),
    randomUUID: () => world === undefined ? real.randomUUID() : createUuid()
  })
  // Modules of the app import these by name.
  syncBuiltinESMExports()
}

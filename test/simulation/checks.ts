import { checkAttempt, isDone } from './check-attempt.ts'
import type { Commit } from './database.ts'
import type { Observed } from './history.ts'
import { isAboutPerson, isBulk, isWide } from './plan.ts'
import type { Operation } from './plan.ts'
import { isLive, State } from './state.ts'

// What must be true of every history.

/** Returns a text for each violation. */
export function findViolations (observed: Observed, journal: readonly Commit[]): string[] {
  const states = [new State()]
  for (const commit of journal) states.push(states.at(-1)!.applyCommit(commit))
  return [
    ...observed.config.app.hasReferences ? checkReferences(journal, states) : [],
    ...observed.config.app.hasHooks ? checkHookWrites(observed, journal) : [],
    ...observed.attempts.flatMap((attempt) => checkAttempt({ observed, attempt, journal, states })),
    ...checkKeys(observed, journal),
    ...checkKeysInUse(observed),
    ...observed.config.app.hasCommitHook ? checkNotices(observed, journal) : [],
    ...checkQueues(observed, journal),
    ...checkLocks(observed, journal),
    ...checkOrderOfLocks(observed),
    ...checkRuns(observed, states),
    ...checkLog(observed)
  ]
}

/** No item refers to nothing. */
function checkReferences (journal: readonly Commit[], states: readonly State[]): string[] {
  return journal.flatMap(({ owner }, index) => {
    const state = states[index + 1]!
    return state.list('items')
      .filter((row) => isLive(row) && row.personId && !isLive(state.find('people', String(row.personId))))
      .filter(() => owner !== 'seed')
      .map(({ id }) => `reference: after commit ${index} of ${owner}, item ${id} refers to nothing`)
  })
}

/** What hooks write is in the commit of the item. */
function checkHookWrites ({ attempts }: Observed, journal: readonly Commit[]): string[] {
  const hasParts = new Set(attempts.filter(({ operation }) => operation.actions.length > 1).map(({ name }) => name))
  return journal.flatMap(({ owner, changes }, index) => {
    const items = changes.filter(({ table }) => table === 'items').length
    const logs = changes.filter(({ table }) => table === 'logs').length
    // An item that is written twice in one transaction is logged twice, also if it is created and removed.
    const isWrittenTwice = hasParts.has(owner) && items < logs
    const isWrong = owner !== 'seed' && (logs < items || (items === 0 && logs > 0 && !isWrittenTwice))
    return isWrong ? [`atomic: commit ${index} of ${owner} has ${items} items and ${logs} logs`] : []
  })
}

/** One effect and one response for each idempotency key. */
function checkKeys ({ attempts }: Observed, journal: readonly Commit[]): string[] {
  const operations = new Set(attempts.map(({ operation }) => operation).filter(({ key }) => key !== undefined))
  return [...operations].flatMap((operation) => {
    const own = attempts.filter((attempt) => attempt.operation === operation)
    const names = new Set(own.map(({ name }) => name))
    const commits = journal.filter(({ owner, changes }) => names.has(owner) && changes.length > 0)
    const responses = new Set(own.filter(isDone).map(({ result }) => {
      const bodies = result!.bodies.filter((_, index) => !dependsOnOthers(operation, index))
      return JSON.stringify([result!.status, bodies])
    }))
    return [
      ...commits.length > 1 ? [`key: ${operation.name} was done ${commits.length} times`] : [],
      ...responses.size > 1 ? [`key: ${operation.name} got different responses: ${[...responses].join(' and ')}`] : []
    ]
  })
}

/**
 * A request whose key another one has does not begin. With faults, the time of a key can be over while its request
 * runs: then that one is refused at its end.
 */
function checkKeysInUse ({ attempts, calls, config }: Observed): string[] {
  if (config.hasFaults || config.isolation !== 'locks') return []
  return attempts
    .filter(({ result }) => result?.code === 'idempotency-key-in-use')
    .filter(({ name }) => [...calls.keys()].some((call) => call.startsWith(`${name} `)))
    .map(({ name }) => `key: ${name} called functions of the app while another request had its key`)
}

/** Whether it is replayed without content: a list, an item with what it refers to, a nested item in a batch. */
function dependsOnOthers ({ door, actions }: Operation, index: number): boolean {
  const { verb, expands, parent } = actions[index]!
  return verb === 'list' || expands || (door === 'batch' && parent !== undefined)
}

/** `afterCommit` is called once for each item that was written, and for nothing else. */
function checkNotices ({ notices, attempts }: Observed, journal: readonly Commit[]): string[] {
  return attempts.flatMap((attempt) => {
    const { name, operation } = attempt
    const written = journal
      .filter(({ owner }) => owner === name)
      .flatMap(({ changes }) => changes.filter(({ table }) => table === 'items'))
    const called = notices.filter(({ owner }) => owner === name).length
    // Parts can write an item several times.
    const isTooOften = operation.actions.length === 1 && called > written.length
    const isTooRare = isDone(attempt) && called < written.length
    return isTooOften || isTooRare ? [`afterCommit: ${name} wrote ${written.length} items, and ${called} notices`] : []
  })
}

/**
 * Writes that wait in the queue of their item lose no race to each other. So no hook is called twice, unless another
 * process or another kind of write has changed the item meanwhile, or the database has rolled something back.
 */
function checkQueues ({ attempts, calls, config, rolledBack }: Observed, journal: readonly Commit[]): string[] {
  // A process that is closed still ends its requests, while another one has begun.
  if (config.hasFaults || config.ending !== undefined || config.isolation === 'optimistic') return []
  const queued = attempts.filter(({ operation }) => waitsInQueue(operation))
  return queued.flatMap(({ name, process, operation: { actions: [action] }, result, start, end }) => {
    const names = new Set(queued.filter((other) => other.process === process).map((other) => other.name))
    const isOvertaken = journal
      .slice(start, end)
      .some(({ owner, changes }) => !names.has(owner) && changes.some(({ id }) => id === action!.id))
    if (isOvertaken || rolledBack.has(name) || result?.code === 'not-unique') return []
    return ['beforeValidation', 'run']
      .filter((hook) => (calls.get(`${name} ${hook}`) ?? 0) > 1)
      .map((hook) => `queue: ${name} called ${hook} several times in one process`)
  })
}

/** A batch or a transaction waits for no queue, nor does a removal that is one statement. */
function waitsInQueue (operation: Operation): boolean {
  const { verb } = operation.actions[0]!
  return isAlone(operation) && verb !== 'create' && verb !== 'remove' && !isWide(verb)
}

/** What has locked all that it writes loses no race. So it runs once, unless the database rolls it back. */
function checkLocks ({ attempts, calls, config, rolledBack }: Observed, journal: readonly Commit[]): string[] {
  if (config.hasFaults || config.isolation !== 'locks') return []
  return attempts.filter(({ name, operation }) => isAlone(operation) && !rolledBack.has(name)).flatMap((attempt) => {
    const { name, operation: { actions: [action] } } = attempt
    const getCalls = (hook: string) => calls.get(`${name} ${hook}`) ?? 0
    const written = journal.filter(({ owner }) => owner === name).flatMap(({ changes }) => changes)
    const items = written.filter(({ table }) => table === 'items').length
    // Hooks that may need a connection are called before the transaction, so nothing is locked yet.
    const isLocked = !config.app.hasValidationHook && (action!.verb === 'bulkRemove' || !config.app.hasRefinement)
    const isRepeated = isBulk(action!.verb)
      ? isLocked && isDone(attempt) && items > 0 && getCalls('beforeWrite') > items
      : getCalls('run') > 1
    return isRepeated ? [`lock: ${name} ran several times, although it locks what it writes`] : []
  })
}

/** A request or a call, not one part of several. */
function isAlone ({ door }: Operation): boolean {
  return door === 'http' || door === 'code'
}

/** `transaction.lock` and bulk writes lock items in one order, so they never wait for each other in a circle. */
function checkOrderOfLocks ({ attempts, deadlocks }: Observed): string[] {
  const ordered = new Set(attempts.filter(({ operation }) => {
    const { verb, parent } = operation.actions[0]!
    return isAlone(operation) && ['move', 'bulkPatch', 'bulkRemove'].includes(verb) && parent === undefined
  }).map(({ name }) => name))
  return deadlocks
    .filter((circle) => circle.every((name) => ordered.has(name)))
    .map((circle) => `lock: ${circle.join(' and ')} wait for each other, although they lock in one order`)
}

/**
 * docs/transactions.md: a transaction that runs again first locks what it had locked. So it loses no race to the same
 * item twice, unless the database rolls it back, or there is no item to lock.
 */
function checkRuns ({ attempts, config, rolledBack }: Observed, states: readonly State[]): string[] {
  if (config.hasFaults || config.isolation !== 'locks') return []
  return attempts.flatMap(({ name, operation: { door, actions }, runs, start, end }) => {
    const ids = new Set(actions.filter(({ verb }) => verb !== 'list' && verb !== 'read').map(({ id }) => id))
    const isOfItems = actions.every(({ verb }) => !isWide(verb) && !isAboutPerson(verb))
    const existed = [...ids].every((id) => states.slice(start, end + 1).every((state) => state.find('items', id)))
    const isBounded = door === 'transaction' && isOfItems && existed && !rolledBack.has(name)
    return isBounded && runs > ids.size + 1 ? [`lock: ${name} ran ${runs} times for ${ids.size} items`] : []
  })
}

/** What is only in the log: mistakes in the library, and errors without a fault. */
function checkLog ({ logged, config }: Observed): string[] {
  return logged.flatMap(({ level, err, msg }) => {
    const { type, message } = Object(err) as { type?: string, message?: string }
    const isMistake = ['TypeError', 'RangeError', 'ReferenceError'].includes(type ?? '')
    const isError = !config.hasFaults && config.isolation === 'locks' && Number(level) >= 50
    return isMistake || isError ? [`logged: ${String(msg)} ${type ?? ''} ${message ?? ''}`] : []
  })
}

import { maxAttempts } from '../../lib/engine/write.ts'
import type { Commit } from './database.ts'
import type { RefusedPart, Result } from './doors.ts'
import type { Attempt, Observed } from './history.ts'
import { findPlaces, getExpected, isFound, showRow, toLocation } from './model.ts'
import type { Expected, Situation as ModelSituation } from './model.ts'
import { checkWalk, parseRows } from './check-walk.ts'
import type { ListedRow } from './check-walk.ts'
import { isAboutPerson, isBulk } from './plan.ts'
import type { Action } from './plan.ts'
import { normalizeRow } from './state.ts'
import type { State } from './state.ts'
import type { Row } from './transaction.ts'

// What must be true of each attempt of an operation. The database knows the order of all commits and which attempt made
// them. So a commit is compared with what the model does to the state before it, and so is the response. What wrote
// nothing must be explained by a state between its begin and its end.

interface AttemptContext {
  readonly observed: Observed
  readonly attempt: Attempt
  readonly journal: readonly Commit[]
  /** The state before each commit, and the last one. */
  readonly states: readonly State[]
}

/** The states that an operation can have read: of the items, and of all else. */
interface Situation {
  readonly state: State
  readonly others: State
  /** Where the parents of nested items are read: before the items. */
  readonly parents: State
}

interface Run {
  /** What each action leads to, up to the first that is refused. */
  readonly expected: readonly Expected[]
  readonly after: State
}

/** Returns a text for each violation. */
export function checkAttempt (context: AttemptContext): string[] {
  const { result, name } = context.attempt
  if (result === undefined) return []
  const problems = new Set(new AttemptCheck(context).run(result))
  return [...problems].map((problem) => problem.replace(':', `: ${name}`))
}

class AttemptCheck {
  readonly #observed: Observed
  readonly #attempt: Attempt
  readonly #journal: readonly Commit[]
  readonly #states: readonly State[]
  /** The indexes of the commits of this attempt. */
  readonly #commits: readonly number[]

  constructor ({ observed, attempt, journal, states }: AttemptContext) {
    this.#observed = observed
    this.#attempt = attempt
    this.#journal = journal
    this.#states = states
    this.#commits = journal.flatMap(({ owner, changes }, index) => {
      return owner === attempt.name && changes.length > 0 ? [index] : []
    })
  }

  run (result: Result): string[] {
    return [
      ...this.#checkText(result),
      ...this.#attempt.operation.isDryRun ? this.#checkNoCommit('a dry run') : [],
      ...this.#commits.length > 1 ? [`atomic: has ${this.#commits.length} commits`] : [],
      ...this.#checkStatus(result),
      ...this.#commits.flatMap((index) => this.#checkEffect(index))
    ]
  }

  #checkStatus (result: Result): string[] {
    if (result.status === 0 || result.status >= 500) return this.#checkFailure(result)
    return result.status >= 400 ? this.#checkRefusal(result) : this.#checkSuccess(result)
  }

  /** Nothing that the caller must not see is in the response, or kept for its idempotency key. */
  #checkText ({ text }: Result): string[] {
    const { name, operation: { caller } } = this.#attempt
    if (caller === 'root') return []
    const others = ['ann', 'bob', 'gus'].filter((other) => other !== caller)
    const secrets = ['hush-', 'tel-', '"shared":false', ...others.flatMap((other) => [`of-${other}`, `"owner":"${other}"`])]
    const kept = this.#journal.filter(({ owner }) => owner === name).flatMap(({ answers }) => answers).join()
    return [
      ...secrets.filter((secret) => text.includes(secret)).map((secret) => `secret: response has ${secret}`),
      ...secrets.filter((secret) => kept.includes(secret)).map((secret) => `secret: what is kept has ${secret}`)
    ]
  }

  #checkFailure ({ status, detail = '', code }: Result): string[] {
    const { hookFault, isAborted, door } = this.#attempt.operation
    const { config } = this.#observed
    const hasThrown = hookFault?.kind === 'throw'
    // With these, a transaction may be rolled back each time.
    const isContended = config.isolation !== 'locks' && detail.includes('each time')
    // A process that is closed serves no further page.
    const isCutOff = config.ending !== undefined && this.#attempt.operation.actions[0]!.verb === 'walk'
    if (!config.hasFaults && !isContended && !isCutOff) return [`failure: ${status} ${code} without a fault`]
    const isExpected = hasThrown || (isAborted && door !== 'http')
    if (status === 500 && !isExpected) return [`failure: 500 ${code} ${detail} without a reason`]
    if (detail.includes('Its write had begun') && !this.#attempt.mayHaveCommitted && !this.#readsToRemove) {
      return [`begun: ${status} "${detail}", but no commit has begun, or all were rolled back`]
    }
    const deniesWrites = /Nothing was (changed|written)/.test(detail) ||
      (status === 500 && hasThrown && door !== 'transaction')
    return deniesWrites ? this.#checkNoCommit(`${status} "${detail}"`) : []
  }

  /** A soft delete reads the item first. The read counts as a part of the write. */
  get #readsToRemove (): boolean {
    const { operation: { actions } } = this.#attempt
    return this.#observed.config.app.hasSoftDelete && actions.some(({ verb }) => verb.startsWith('remove'))
  }

  #checkRefusal (result: Result): string[] {
    const { status, code = '', part } = result
    const { operation: { actions }, start, end } = this.#attempt
    const { config } = this.#observed
    const untrue = this.#checkNoCommit(`${status} ${code}`)
    if (untrue.length > 0) return untrue
    if (code === 'idempotency-key-in-use' && this.#siblings.length > 0) return []
    if (code === 'concurrent-update' || part?.code === 'concurrent-update') {
      return this.#checkContention(code, end - start)
    }
    // Rules do not depend on what is stored.
    if (status === 403) return this.#isForbidden ? [] : ['refusal: 403 without a reason']
    const refused = part ?? { index: 0, status, code }
    if (refused.index >= actions.length) return [`refusal: ${status} ${code} although no call was refused`]
    const listed = this.#findListed(result, refused.index)
    const isAsListed = ({ state }: Situation) => this.#isAsListed(listed, state)
    if (this.#situations.filter(isAsListed).some((situation) => this.#isRefused(refused, situation))) return []
    if (refused.code === 'not-found' && (this.#isMoved(undefined) || this.#hasAppeared(actions[refused.index]!))) return []
    if ((config.isolation !== 'locks' || this.#locksNothing) && this.#isRefusedLater(refused, listed)) return []
    // READ COMMITTED: a part can be about an item that an earlier part did not find.
    if (actions.length > 1 && actions.some(isAboutMany) && this.#window.length > 1) return []
    const [first] = this.#window as readonly [State]
    const expected = this.#runActions(toSituation(first)).expected.map((one) => `${one.status} ${one.code ?? ''}`)
    const found = `${refused.status} ${refused.code} of part ${refused.index}`
    return [`refusal: ${found} has no reason, expected ${expected.join(', ')}`]
  }

  /** A write or transaction is only refused like this if it has lost a race in each of its attempts. */
  #checkContention (code: string, others: number): string[] {
    const { config, statements } = this.#observed
    const count = statements.get(this.#attempt.name) ?? 0
    if (count < maxAttempts) return [`refusal: ${code} after ${count} statements`]
    return config.hasFaults || others > 4 ? [] : [`refusal: ${code} after ${others} other commits`]
  }

  get #isForbidden (): boolean {
    const [first] = this.#window as readonly [State]
    return this.#attempt.operation.actions.some((action, index) => {
      return getExpected(action, this.#toModelSituation(toSituation(first), index)).status === 403
    })
  }

  /** Whether this part is refused like this. Its checks may read two states: of the items, and of all else. */
  #isRefused ({ index, status, code }: RefusedPart, situation: Situation): boolean {
    const { operation: { actions, door } } = this.#attempt
    const { expected } = this.#runActions(situation)
    const last = expected.at(-1)!
    if (expected.length - 1 !== index) return false
    // From code, there is no query string that is malformed.
    const isFromCode = door === 'code' || door === 'transaction'
    if (isFromCode && last.code === 'invalid-query') return code === 'validation-failed'
    // From code, the problem is that of the call inside of the action.
    const { verb } = actions[index]!
    const isOfCall = (verb === 'move' || verb === 'tally') && door !== 'http'
    if (isOfCall && last.status === 409) return [404, 409, 410, 422].includes(status)
    return last.status === status && last.code === code
  }

  /** Without locks, each part may see other commits; then the transaction could not have been committed. */
  #isRefusedLater ({ index, status, code }: RefusedPart, listed: ListedRow | undefined): boolean {
    const { operation: { actions } } = this.#attempt
    return this.#window.filter((first) => this.#isAsListed(listed, first)).some((first) => {
      const { after } = this.#runActions(toSituation(first), { count: index })
      return this.#window.some((others) => {
        const situation = this.#toModelSituation({ state: after, others, parents: others }, index)
        const expected = getExpected(actions[index]!, situation)
        return expected.status === status && expected.code === code
      })
    })
  }

  /**
   * docs/transactions.md: a transaction runs again if another one has changed or removed what it has listed and then
   * writes. So a call is not refused because of that. Returns what was listed of its item.
   */
  #findListed ({ bodies }: Result, index: number): ListedRow | undefined {
    const { operation: { actions, door }, caught } = this.#attempt
    const action = actions[index]!
    // A batch that is refused does not say what its parts have returned.
    if (door !== 'transaction') return undefined
    if (!isWriteOf(action) || isBulk(action.verb)) return undefined
    const earlier = actions.slice(0, index)
    const lists = earlier.filter(({ verb }) => verb === 'list')
    const isKnownBetter = earlier.some((other) => other.verb !== 'list' && isAbout(other, { id: action.id }))
    if (isKnownBetter || lists.length !== 1 || lists[0]!.expands || caught.size > 0) return undefined
    return parseRows(bodies[earlier.indexOf(lists[0]!)]).find(({ row }) => row.id === action.id)
  }

  #isAsListed (listed: ListedRow | undefined, state: State): boolean {
    const row = listed && state.find('items', String(listed.row.id))
    return listed === undefined || (row !== undefined && showRow(row, this.#attempt.operation.caller) === listed.text)
  }

  #checkSuccess (result: Result): string[] {
    if (this.#attempt.operation.actions[0]!.verb === 'walk') return this.#checkWalk(result)
    if (result.status === 301 && this.#isMoved(result.bodies[0])) return []
    const [committed] = this.#commits
    if (committed !== undefined) return this.#compareWithModel(committed, result)
    if (result.isReplayed === true) return this.#siblings.some(isDone) || this.#hasReceipt() ? [] : ['key: replays nothing']
    if (this.#situations.some((situation) => this.#explainsRead(situation, result))) return []
    if (this.#locksNothing && result.bodies.every((_, index) => this.#explainsPart(index, result))) return []
    // READ COMMITTED: rows that were locked by another transaction are gone, and those that it has added are not found.
    if (this.#attempt.operation.actions.some(isAboutMany) && this.#window.length > 1) return []
    const [first] = this.#window as readonly [State]
    const wrong = this.#compareBodies(result, this.#runActions(toSituation(first)).expected) ?? 'no commit'
    return [`read: ${wrong}, in no state of ${this.#attempt.start} to ${this.#attempt.end}`]
  }

  /**
   * Whether the item is not found, but at this location. Each of its places was read by another statement, perhaps in
   * another state.
   */
  #isMoved (location: unknown): boolean {
    const { operation: { actions: [action] } } = this.#attempt
    if (!this.#isRedirected) return false
    const places = findPlaces(action!.id)
    const found = places.findIndex((id) => toLocation(action!, id) === location)
    const missing = location === undefined ? places : places.slice(0, found)
    const isFoundIn = (id: string, state: State) => this.#isFoundIn({ ...action!, id }, state)
    const wasMissing = missing.every((id) => this.#window.some((state) => !isFoundIn(id, state)))
    return wasMissing && (location === undefined || this.#window.some((state) => isFoundIn(places[found]!, state)))
  }

  /** A DELETE that did not find the item reads it again, to find out why, and another request has created it. */
  #hasAppeared (action: Action): boolean {
    const isFoundIn = (state: State) => this.#isFoundIn(action, state)
    return action.verb.startsWith('remove') && this.#window.some(isFoundIn) && !this.#window.every(isFoundIn)
  }

  #isFoundIn (action: Action, state: State): boolean {
    return isFound(action, this.#toModelSituation(toSituation(state)))
  }

  /** docs/lists.md: who follows the links gets every item that exists the whole time exactly once. */
  #checkWalk ({ bodies }: Result): string[] {
    const { operation: { actions: [action] }, start, end } = this.#attempt
    const lists = this.#window.map((state) => {
      const { body } = getExpected(action!, this.#toModelSituation(toSituation(state)))
      return body === undefined ? [] : parseRows(body)
    })
    return checkWalk(action!.walk!, parseRows(bodies[0]), lists)
      .map((problem) => `walk: ${problem}, in the states ${start} to ${end}`)
  }

  /** Whether nothing was to be written in this state, and the response is about it. */
  #explainsRead (situation: Situation, result: Result): boolean {
    const { state } = situation
    const { expected, after } = this.#runActions(situation)
    const isDryRun = this.#attempt.operation.isDryRun
    const isUnchanged = isDryRun || state.findDifferences(after).length === 0
    const isPossible = isUnchanged && expected.every(({ status }) => status < 400)
    return isPossible && this.#compareBodies(result, expected) === undefined
  }

  /** docs/batch.md: a batch of GETs only locks nothing, and sees what each part finds. */
  get #locksNothing (): boolean {
    const { door, actions } = this.#attempt.operation
    return door === 'batch' && actions.every(({ verb }) => verb === 'read' || verb === 'list' || verb === 'readPerson')
  }

  #explainsPart (index: number, { bodies }: Result): boolean {
    const action = this.#attempt.operation.actions[index]!
    return this.#situations.some((situation) => {
      const { body } = getExpected(action, this.#toModelSituation(situation, index))
      return body !== undefined && withoutTime(body) === withoutTime(bodies[index])
    })
  }

  /** A commit must be what the operation does to the state before it, whatever its response. */
  #checkEffect (index: number): string[] {
    const [before, stored] = [this.#states[index]!, this.#states[index + 1]!]
    const { expected, after } = this.#runCommitted(index)
    const refused = expected.find(({ status }) => status >= 400)
    if (refused !== undefined) {
      const wasPossible = this.#wasPossible(index) || this.#isLaterPart(index, expected.length - 1)
      return wasPossible ? [] : [`effect: commit ${index}, but ${refused.status} ${refused.code} was due`]
    }
    const wrong = after.findDifferences(stored)
      .find(({ table, id }) => !this.#isPhantom(index, { id, isWritten: isDifferent(before, stored, table, id) }))
    if (wrong === undefined) return []
    const { table, id } = wrong
    const [written, wanted] = [stored, after].map((state) => normalizeRow(state.find(table, id)))
    return [`effect: commit ${index} wrote ${id} ${written}, not ${wanted}`]
  }

  /**
   * READ COMMITTED: a row that began to match after the rows were looked for would have been refused. What was written
   * is what the operation does to an earlier state, without that row.
   */
  #wasPossible (index: number): boolean {
    const { operation: { actions }, start } = this.#attempt
    if (!actions.some(isAboutMany)) return false
    const [before, stored] = [this.#states[index]!, this.#states[index + 1]!]
    const written = before.findDifferences(stored)
    return this.#states.slice(start, index).some((state) => {
      const { expected, after } = this.#runActions(toSituation(state), { isCommitted: true })
      return expected.every(({ status }) => status < 400) &&
        written.every(({ table, id }) => !isDifferent(after, stored, table, id))
    })
  }

  /** READ COMMITTED: a part can be about an item that others have written after an earlier part looked for items. */
  #isLaterPart (index: number, part: number): boolean {
    const { actions } = this.#attempt.operation
    return actions.slice(0, part).some(isAboutMany) && this.#hasForeignWrite(index, actions[part]!.id)
  }

  /** Whether another attempt has written the row before this commit. */
  #hasForeignWrite (index: number, id: string): boolean {
    return this.#journal
      .slice(this.#attempt.start, index)
      .some(({ changes }) => changes.some((change) => String(change.id) === id))
  }

  /**
   * READ COMMITTED: rows that begin to match after they were looked for are not written, and a later part finds them as
   * they were.
   */
  #isPhantom (index: number, { id, isWritten }: { id: string, isWritten: boolean }): boolean {
    const { actions } = this.#attempt.operation
    if (!actions.some(isAboutMany)) return false
    return !isWritten || (actions.length > 1 && this.#hasForeignWrite(index, id))
  }

  #compareWithModel (index: number, result: Result): string[] {
    const listed = this.#checkListed(index, result)
    if (this.#attempt.operation.actions.some(isAboutMany)) return listed
    const { expected } = this.#runCommitted(index)
    const difference = this.#compareBodies(result, expected)
    return [...difference === undefined ? [] : [`response: commit ${index}, ${difference}`], ...listed]
  }

  /** docs/transactions.md: a call never writes an item that has changed since the transaction has listed it. */
  #checkListed (index: number, { bodies }: Result): string[] {
    const { operation: { actions, caller }, caught } = this.#attempt
    const [before, after] = [this.#states[index]!, this.#states[index + 1]!]
    return actions.flatMap((action, at) => {
      const isFirst = actions.slice(0, at).every(({ verb }) => verb === 'list' || verb === 'read')
      if (action.verb !== 'list' || action.expands || !isFirst || caught.has(at)) return []
      return parseRows(bodies[at])
        .filter(({ row }) => isDifferent(before, after, 'items', String(row.id)))
        .filter(({ row }) => isWriteOf(actions.slice(at + 1).find((other) => isAbout(other, row))))
        .map(({ text, row }) => ({ text, stored: before.find('items', String(row.id)) }))
        .filter(({ text, stored }) => stored === undefined || text !== showRow(stored, caller))
        .map(({ text }) => `listed: commit ${index} wrote what was listed as ${text}`)
    })
  }

  #compareBodies ({ bodies, status }: Result, expected: readonly Expected[]): string | undefined {
    const { door, actions } = this.#attempt.operation
    if (door === 'http' && status !== expected[0]!.status) return `status ${status}, not ${expected[0]!.status}`
    for (const [index, body] of bodies.entries()) {
      const wanted = expected[index]?.body
      // A list in a transaction need not see what others commit until its end.
      const { verb, expands } = actions[index]!
      const isOld = (verb === 'list' || expands) && actions.length > 1
      const isComparable = body !== undefined && wanted !== undefined && !isOld
      if (isComparable && withoutTime(body) !== withoutTime(wanted)) {
        return `${verb} returned ${String(body)}, not ${String(wanted)}`
      }
    }
    return undefined
  }

  /** What the operation does to the state before a commit. Parents can have been removed since they were read. */
  #runCommitted (index: number): Run {
    const state = this.#states[index]!
    const runs = (this.#isNested ? this.#states.slice(this.#attempt.start, index + 1) : [state])
      .map((parents) => this.#runActions({ state, others: state, parents }, { isCommitted: true }))
    return runs.find(({ expected }) => expected.every(({ status }) => status < 400)) ?? runs.at(-1)!
  }

  #runActions (situation: Situation, { count = Infinity, isCommitted = false } = {}): Run {
    const actions = this.#attempt.operation.actions.slice(0, count)
    const expected: Expected[] = []
    let { state, others, parents } = situation
    const { caught, result } = this.#attempt
    for (const [index, action] of actions.entries()) {
      // What was caught has no effect, except that it may undo the transaction, which then has no commit.
      const isLeftOut = caught.has(index) && (isCommitted || index !== result?.part?.index)
      const one = isLeftOut
        ? { status: 204, writes: [] }
        : getExpected(action, this.#toModelSituation({ state, others, parents }, index))
      expected.push(one)
      if (one.status >= 400) break
      state = state.apply(one.writes)
      others = others.apply(one.writes)
      parents = parents.apply(one.writes)
    }
    return { expected, after: state }
  }

  #toModelSituation (situation: Situation, index = 0): ModelSituation {
    const { operation: { caller, tags } } = this.#attempt
    const { config: { app: config } } = this.#observed
    return { ...situation, caller, config, isRedirected: this.#isRedirected, tagged: tags?.[index]?.shown }
  }

  get #isNested (): boolean {
    return this.#attempt.operation.actions.some(({ parent }) => parent !== undefined)
  }

  #checkNoCommit (response: string): string[] {
    return this.#commits.length > 0 ? [`untrue: ${response}, but commit ${this.#commits.join()}`] : []
  }

  #hasReceipt (): boolean {
    const names = this.#siblings.map(({ name }) => name)
    return this.#journal.some(({ owner, answers }) => answers.length > 0 && names.includes(owner))
  }

  /** Calls from code and parts of batches are not redirected. */
  get #isRedirected (): boolean {
    return this.#observed.config.app.hasRedirects && this.#attempt.operation.door === 'http'
  }

  /** The states that the attempt can have seen. */
  get #window (): readonly State[] {
    return this.#states.slice(this.#attempt.start, this.#attempt.end + 1)
  }

  get #situations (): readonly Situation[] {
    const states = this.#window
    return states.flatMap((state) => states.flatMap((others) => {
      return (this.#isNested ? states : [others]).map((parents) => ({ state, others, parents }))
    }))
  }

  /** The other attempts with the same key. */
  get #siblings (): readonly Attempt[] {
    const { operation } = this.#attempt
    if (operation.key === undefined) return []
    return this.#observed.attempts.filter((other) => other !== this.#attempt && other.operation === operation)
  }
}

function toSituation (state: State): Situation {
  return { state, others: state, parents: state }
}

export function isDone ({ result }: Pick<Attempt, 'result'>): boolean {
  return result !== undefined && result.status >= 200 && result.status < 300
}

/** Whether it reads or writes this item, or may do so. */
function isAbout (action: Action, { id }: Row): boolean {
  const { verb } = action
  if (isAboutPerson(verb)) return false
  return action.id === id || isAboutMany(action) || verb === 'list' || (verb === 'move' && action.to === id)
}

/** Whether it writes what is known of items, without a look at them before. */
function isWriteOf (action: Action | undefined): boolean {
  return ['put', 'patch', 'remove', 'add', 'bulkPatch', 'bulkRemove'].includes(action?.verb ?? 'none')
}

/** Whether it finds its items by a list. */
function isAboutMany ({ verb }: Action): boolean {
  return isBulk(verb) || verb === 'tally'
}

function isDifferent (before: State, after: State, table: string, id: string): boolean {
  return normalizeRow(before.find(table, id)) !== normalizeRow(after.find(table, id))
}

/** The model does not know when a row was deleted. */
function withoutTime (body: unknown): string {
  return String(body).replace(/\["deletedAt","[^"]*"\]/, '["deletedAt"]')
}

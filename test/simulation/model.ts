import { isAboutPerson, newIds } from './plan.ts'
import type { Action } from './plan.ts'
import type { AppConfig } from './service.ts'
import { isLive, toText } from './state.ts'
import type { State, Write } from './state.ts'
import type { Row } from './transaction.ts'

// What each action leads to, over one state of the database: the order of the checks, and what is written and returned.
// It knows nothing of statements, locks, retries and doors.

export interface Expected {
  readonly status: number
  readonly code?: string
  /** What the response shows, as text. */
  readonly body?: unknown
  readonly writes: readonly Write[]
}

export interface Situation {
  /** Where items and people are read. */
  readonly state: State
  /** Where the rest is read: unique values, and the people that items refer to or that are included. */
  readonly others: State
  /** Where the parent of nested items is read. */
  readonly parents: State
  readonly caller: string
  readonly config: AppConfig
  /** Whether requests are redirected. */
  readonly isRedirected: boolean
  /** What the client has got with the tag that it sends in If-Match; undefined without If-Match. */
  readonly tagged: string | undefined
}

export function getExpected (action: Action, situation: Situation): Expected {
  try {
    return new Model(action, situation).run()
  } catch (thrown) {
    if (thrown instanceof Moved) return { status: 301, body: thrown.location, writes: [] }
    if (!(thrown instanceof Refused)) throw thrown
    const { status, code } = thrown
    return { status, code, writes: [] }
  }
}

/** Whether there is such an item, for this caller and action. */
export function isFound (action: Action, situation: Situation): boolean {
  return new Model(action, situation).isFound()
}

/** The ids that an item can have had, from this one to the last. */
export function findPlaces (id: string): string[] {
  const next = newIds.get(id)
  return next === undefined ? [id] : [id, ...findPlaces(next)]
}

/** The path of the collection that an action is about. */
export function toPath ({ parent }: Action): string {
  return parent === undefined ? '/items' : `/people/${parent}/items`
}

/** Where a request is redirected. */
export function toLocation (action: Action, id: string): string {
  const { verb, expands } = action
  return `${toPath(action)}/${id}${verb === 'add' ? '/add' : ''}${expands ? '?expand=person' : ''}`
}

/** What a caller sees of a row, as text. */
export function showRow (row: Row, caller: string): string {
  if (caller === 'root') return toText(row)
  const { secret, phone, ...visible } = row
  return toText(visible)
}

export function showEach (rows: readonly Row[], caller: string): string {
  return JSON.stringify(rows.map((row) => showRow(row, caller)))
}

class Refused {
  readonly status: number
  readonly code: string

  constructor (status: number, code: string) {
    this.status = status
    this.code = code
  }
}

class Moved {
  readonly location: string

  constructor (location: string) {
    this.location = location
  }
}

class Model {
  readonly #action: Action
  readonly #situation: Situation

  constructor (action: Action, situation: Situation) {
    this.#action = action
    this.#situation = situation
  }

  run (): Expected {
    const { verb, id, content } = this.#action
    if (isAboutPerson(verb)) return this.#runOfPerson()
    if (this.#action.parent !== undefined) this.#checkMayReadPeople()
    if (verb === 'create' || verb === 'bulkCreate') this.#checkMayCreate()
    this.#checkParent()
    switch (verb) {
      case 'read': {
        const row = this.#requireItem()
        const { tagged, caller } = this.#situation
        const isKnown = !this.#action.expands && tagged === showRow(row, caller)
        return isKnown ? { status: 304, writes: [] } : this.#respond(200, this.#expand(row))
      }
      case 'list':
      case 'walk': {
        const { caller } = this.#situation
        const rows = this.#listByPerson().map((row) => this.#expand(row))
        return { status: 200, body: showEach(rows, caller), writes: [] }
      }
      case 'create': {
        const row = this.#complete(this.#withOwner(content), undefined)
        return this.#respond(201, row, [toWrite(row)])
      }
      case 'bulkCreate': {
        const rows = this.#action.contents.map((each) => this.#change(this.#withOwner(each)))
        const { hasValidationHook } = this.#situation.config
        if (hasValidationHook) for (const row of rows) this.#checkScope(row)
        for (const row of rows) this.#checkReference(row, undefined)
        // They are written one after another.
        for (const row of rows) {
          this.#checkScope(row)
          this.#checkUnique(row, undefined)
        }
        this.#checkDifferent(rows)
        return { status: 201, writes: rows.map((row) => toWrite(row)) }
      }
      case 'put': {
        const before = this.#findItem()
        if (before === undefined && !this.#mayCreate) throw new Refused(404, 'not-found')
        if (!isLive(before) && before !== undefined && !this.#isRoot) throw new Refused(410, 'gone')
        this.#checkTag(before)
        if (this.#action.mustCreate && before !== undefined) throw new Refused(412, 'precondition-failed')
        const draft = before === undefined ? this.#withOwner({ ...content, id }) : this.#replace(before)
        const row = this.#complete(draft, before)
        return this.#respond(before === undefined ? 201 : 200, row, [toWrite(row)])
      }
      case 'patch':
      case 'restore': {
        const before = this.#requireItem()
        this.#checkTag(before)
        const { testedNumber = before.n, isWhole } = this.#action
        if (testedNumber !== before.n) throw new Refused(409, 'patch-test-failed')
        if (!isLive(before) && verb === 'patch' && !isWhole) throw new Refused(410, 'gone')
        const { deletedAt, ...rest } = before
        const changed = isWhole ? { ...this.#getHidden(before), ...content } : { ...rest, ...content }
        const row = this.#complete(changed, before)
        return this.#respond(200, row, [toWrite(row)])
      }
      case 'remove': {
        const before = this.#requireItem()
        this.#checkTag(before)
        return this.#respond(204, before, [this.#remove('items', before)])
      }
      case 'add': {
        const before = this.#requireItem()
        this.#checkTag(before)
        const row = this.#add({ ...before, text: ` ${String(before.text).trim()}` }, 1)
        return this.#respond(200, row, [toWrite(row)])
      }
      case 'move': {
        const [from, to] = [id, this.#action.to].map((each) => this.#findItem(each))
        if (!isLive(from) || !isLive(to)) throw new Refused(409, 'conflict')
        return this.#callInside(() => [this.#add(from, -1), this.#add(to, 1)])
      }
      case 'tally': {
        return this.#callInside(() => this.#listItems().map((row) => this.#add(row, 1)))
      }
      case 'bulkPatch': {
        const rows = this.#listGroup()
        return this.#count(rows, rows.map((row) => toWrite(this.#build({ ...row, ...content }))))
      }
      case 'bulkRemove': {
        const rows = this.#listGroup()
        return this.#count(rows, rows.map((row) => this.#remove('items', row)))
      }
      default: {
        throw new Error(`The model does not know ${verb}`)
      }
    }
  }

  /** A PUT creates people. Only root sees those that are not shared. */
  #runOfPerson (): Expected {
    const { state } = this.#situation
    const { verb, id, content } = this.#action
    if (verb === 'readPerson') this.#checkMayReadPeople()
    const stored = state.find('people', id)
    const person = stored !== undefined && this.#isPersonInScope(stored) ? stored : undefined
    if (person === undefined && verb !== 'putPerson') throw new Refused(404, 'not-found')
    const isRestored = verb === 'putPerson' && this.#isRoot
    if (person !== undefined && !isLive(person) && !isRestored) throw new Refused(410, 'gone')
    if (verb === 'readPerson') return this.#respond(200, person!)
    if (verb === 'putPerson') {
      if (person === undefined && stored !== undefined) throw new Refused(409, 'not-unique')
      const kept = this.#isRoot ? {} : { shared: true, phone: person?.phone }
      const row = { ...kept, ...content, id }
      return this.#respond(person === undefined ? 201 : 200, row, [{ table: 'people', id, row }])
    }
    this.#checkUnreferenced(id)
    return this.#respond(204, person!, [this.#remove('people', person!)])
  }

  get #isRoot (): boolean {
    return this.#situation.caller === 'root'
  }

  /** The rule of `create`. */
  get #mayCreate (): boolean {
    return this.#situation.caller !== 'gus'
  }

  #checkMayCreate (): void {
    if (!this.#mayCreate) throw new Refused(403, 'forbidden')
  }

  /** The rule of `read` of people. */
  get #mayReadPeople (): boolean {
    return this.#situation.caller !== 'gus'
  }

  #checkMayReadPeople (): void {
    if (!this.#mayReadPeople) throw new Refused(403, 'forbidden')
  }

  /** The item, deleted or not, if it is in the scope of the caller. */
  #findItem (id: string = this.#action.id, state = this.#situation.state): Row | undefined {
    const row = state.find('items', id)
    return row !== undefined && this.#isVisible(row) ? row : undefined
  }

  /** An item under the wrong parent does not exist. */
  #isVisible (row: Row): boolean {
    const { parent } = this.#action
    return this.#isInScope(row) && (parent === undefined || row.personId === parent)
  }

  /** The parent in the URI has to exist for the caller. */
  #checkParent (): void {
    const { parent } = this.#action
    if (parent === undefined) return
    if (this.#findPerson({ personId: parent }, this.#situation.parents) === undefined) throw new Refused(404, 'not-found')
  }

  #isInScope (row: Row): boolean {
    return this.#isRoot || row.owner === this.#situation.caller
  }

  #requireItem (): Row {
    const row = this.#findItem()
    if (this.#canUse(row)) return row
    const { isRedirected, others } = this.#situation
    const [, ...newPlaces] = isRedirected ? findPlaces(this.#action.id) : []
    const place = newPlaces.find((other) => this.#canUse(this.#findItem(other, others)))
    if (place !== undefined) throw new Moved(toLocation(this.#action, place))
    throw row === undefined ? new Refused(404, 'not-found') : new Refused(410, 'gone')
  }

  isFound (): boolean {
    const { verb, id } = this.#action
    if (!isAboutPerson(verb)) return this.#canUse(this.#findItem())
    const person = this.#situation.state.find('people', id)
    return isLive(person) && this.#isPersonInScope(person)
  }

  /** A deleted item can only be restored. */
  #canUse (row: Row | undefined): row is Row {
    const { verb } = this.#action
    const restores = (verb === 'patch' || verb === 'restore') && this.#isRoot
    return isLive(row) || (row !== undefined && restores)
  }

  #listItems (): Row[] {
    return this.#situation.state.list('items')
      .filter((row) => isLive(row) && this.#isVisible(row) && this.#isInScopeOfList(row))
  }

  /** `gus` lists the items of one group. It can read and write the others. */
  #isInScopeOfList ({ group }: Row): boolean {
    return this.#situation.caller !== 'gus' || group === 'g'
  }

  #listGroup (): Row[] {
    return this.#listItems().filter(({ group }) => group === this.#action.group)
  }

  #listByPerson (): Row[] {
    const { state } = this.#situation
    const { personFilter } = this.#action
    if (personFilter === undefined) return this.#listGroup()
    const { property, value } = personFilter
    if (!this.#mayReadPeople || (property === 'phone' && !this.#isRoot)) throw new Refused(400, 'invalid-query')
    return this.#listGroup().filter((row) => this.#findPerson(row, state)?.[property] === value)
  }

  /** The person that an item refers to, if it exists for the caller, and the caller may read it. */
  #findPerson ({ personId }: Row, state: State): Row | undefined {
    if (!this.#mayReadPeople) return undefined
    const person = typeof personId === 'string' ? state.find('people', personId) : undefined
    return isLive(person) && this.#isPersonInScope(person) ? person : undefined
  }

  #isPersonInScope ({ shared }: Row): boolean {
    return this.#isRoot || shared === true
  }

  /** Adds the person, which is read in another statement. */
  #expand (row: Row): Row {
    const { others, caller } = this.#situation
    if (!this.#action.expands) return row
    const person = this.#findPerson(row, others)
    return { ...row, person: person === undefined ? null : showRow(person, caller) }
  }

  #checkTag (row: Row | undefined): void {
    const { tagged, caller } = this.#situation
    const isSame = row !== undefined && showRow(row, caller) === tagged
    if (tagged !== undefined && !isSame) throw new Refused(412, 'precondition-failed')
  }

  /** The row that is stored, after all checks. */
  #complete (draft: Row, before: Row | undefined): Row {
    const row = this.#build(draft)
    this.#checkReference(row, before)
    this.#checkUnique(row, before)
    return row
  }

  /** The row that is stored. The caller must see it afterwards. */
  #build (draft: Row): Row {
    const row = this.#change(draft)
    this.#checkScope(row)
    return row
  }

  #checkScope (row: Row): void {
    if (!this.#isInScope(row)) throw new Refused(422, 'validation-failed')
  }

  /** What hooks and refinements make of a row. */
  #change (draft: Row): Row {
    const { config: { hasHooks, hasValidationHook, hasRefinement } } = this.#situation
    const { parent } = this.#action
    if (parent !== undefined && draft.personId !== parent) throw new Refused(422, 'validation-failed')
    if (hasRefinement && draft.code === 'y' && draft.group !== 'g') throw new Refused(422, 'validation-failed')
    const text = String(draft.text)
    // The hook gets content that is refined already, and what an action has returned.
    const hasSpace = text.startsWith(' ') && (!hasRefinement || this.#action.verb === 'add')
    const isAstray = (hasHooks || hasValidationHook) && text.trim() === 'astray'
    return {
      ...draft,
      ...hasHooks && { text: ` ${text.trim()}` },
      ...hasRefinement && { text: text.trim() },
      ...hasValidationHook && { checked: hasSpace ? 'with a space' : draft.by },
      ...hasHooks && { written: draft.by },
      ...isAstray && { owner: 'nobody' }
    }
  }

  /** What an item refers to has to exist when the reference is new. */
  #checkReference (row: Row, before: Row | undefined): void {
    const { config, others } = this.#situation
    const isNew = !isLive(before) || before.personId !== row.personId
    if (!config.hasReferences || !isNew || !row.personId) return
    if (this.#findPerson(row, others) === undefined) throw new Refused(422, 'validation-failed')
  }

  /** Ids and codes are unique over all rows, also those that the caller does not see. */
  #checkUnique (row: Row, before: Row | undefined): void {
    const { state, others } = this.#situation
    const id = String(row.id)
    // A PUT replaces what another one has created meanwhile, if the caller sees it.
    const isReplaced = (found: Row) => this.#action.verb === 'put' && this.#isVisible(found)
    const isIdInUse = before === undefined && [state, others].some((one) => {
      const found = one.find('items', id)
      return found !== undefined && !isReplaced(found)
    })
    const isCodeInUse = others.list('items').some((other) => other.id !== id && row.code && other.code === row.code)
    if (isIdInUse || isCodeInUse) throw new Refused(409, 'not-unique')
  }

  /** The same among the items of one request. */
  #checkDifferent (rows: readonly Row[]): void {
    const ids = new Set(rows.map(({ id }) => id))
    const codes = new Set(rows.map((row) => row.code ?? row))
    if (ids.size < rows.length || codes.size < rows.length) throw new Refused(409, 'not-unique')
  }

  #checkUnreferenced (id: string): void {
    const { config, others } = this.#situation
    // A row that is only marked as deleted still exists for deleted items.
    const refers = (row: Row) => row.personId === id && (!config.hasSoftDelete || isLive(row))
    if (config.hasReferences && others.list('items').some(refers)) throw new Refused(409, 'conflict')
  }

  /** The scope of the caller and the URI set properties. */
  #withOwner (row: Row): Row {
    return { ...!this.#isRoot && { owner: this.#situation.caller }, ...this.#imposed, ...row }
  }

  /** What the URI sets. */
  get #imposed (): Row {
    const { parent } = this.#action
    return parent === undefined ? {} : { personId: parent }
  }

  /** A PUT keeps what the caller does not see, and the values of its scope. */
  #replace (before: Row): Row {
    const kept = { ...!this.#isRoot && { owner: before.owner }, ...this.#getHidden(before) }
    return { ...kept, ...this.#imposed, ...this.#action.content, id: before.id }
  }

  /** What the caller does not see of an item. */
  #getHidden ({ secret }: Row): Row {
    return this.#isRoot || secret === undefined ? {} : { secret }
  }

  /** A call that is refused inside of an action is a conflict of the action. */
  #callInside (buildRows: () => Row[]): Expected {
    try {
      return { status: 204, writes: buildRows().map(toWrite) }
    } catch (thrown) {
      throw thrown instanceof Refused ? new Refused(409, 'conflict') : thrown
    }
  }

  #add (row: Row, difference: number): Row {
    return this.#build({ ...row, n: Number(row.n) + difference, by: this.#action.content.by })
  }

  #remove (table: string, row: Row): Write {
    const marked = this.#situation.config.hasSoftDelete ? { ...row, deletedAt: 'now' } : undefined
    return { table, id: String(row.id), row: marked }
  }

  /** The response that shows a row, unless the client prefers another one, or may not read what it has written. */
  #respond (status: number, row: Row, writes: readonly Write[] = []): Expected {
    const { verb } = this.#action
    const isUnreadable = isAboutPerson(verb) && !this.#mayReadPeople
    const preference = isUnreadable ? 'minimal' : this.#action.preference
    const isRead = verb === 'read' || verb === 'readPerson'
    if (status === 200 && preference === 'minimal' && !isRead) return { status: 204, writes }
    if (status === 204 && preference !== 'representation') return { status, writes }
    return { status: status === 204 ? 200 : status, body: showRow(row, this.#situation.caller), writes }
  }

  /** The response to a bulk write. */
  #count (rows: readonly Row[], writes: readonly Write[]): Expected {
    return this.#action.preference === 'minimal' ? { status: 204, writes } : { status: 200, body: rows.length, writes }
  }
}

function toWrite (row: Row): Write {
  return { table: 'items', id: String(row.id), row }
}

import type { Isolation } from './locks.ts'
import type { AppConfig } from './service.ts'
import { Random } from './random.ts'
import { isLive } from './state.ts'
import type { Row } from './transaction.ts'

// What clients send: the plan of a history, which follows from its seed.

export type Verb =
  | 'read' | 'list' | 'walk' | 'create' | 'put' | 'patch' | 'restore' | 'remove' | 'add' | 'move' | 'tally'
  | 'bulkPatch' | 'bulkRemove' | 'bulkCreate' | 'readPerson' | 'putPerson' | 'removePerson'

export type Door = 'http' | 'code' | 'batch' | 'transaction'

/** One request, one call, or one part of a batch or transaction. */
export interface Action {
  readonly verb: Verb
  readonly id: string
  /** The person within whose items this is, if the URI has one. */
  readonly parent: string | undefined
  /** The second item of `move`. */
  readonly to: string
  readonly group: string
  /** The properties to write. */
  readonly content: Row
  /** The items of `bulkCreate`. */
  readonly contents: readonly Row[]
  /** Whether it is sent with If-Match, or a read with If-None-Match, if the client knows a tag. */
  readonly isConditional: boolean
  /** Whether a PUT may only create: `If-None-Match: *`. */
  readonly mustCreate: boolean
  /** Whether a PATCH is sent as a JSON Patch, which first tests `n`. */
  readonly testedNumber: number | undefined
  /** Whether a JSON Patch replaces the whole item. */
  readonly isWhole: boolean
  readonly preference: 'minimal' | 'representation' | undefined
  /** Whether a read or list includes the person. */
  readonly expands: boolean
  /** What a list requires of the person of an item. */
  readonly personFilter: { readonly property: 'id' | 'phone', readonly value: string } | undefined
  /** In which order a client walks over the pages of a list, and how many items each page has. */
  readonly walk: Walk | undefined
}

export interface Walk {
  readonly property: 'id' | 'n' | 'code'
  readonly isDescending: boolean
  readonly limit: number
}

/** An entity tag, and what the client has got with it. */
export interface KnownTag {
  readonly tag: string
  readonly shown: string
}

export interface HookFault {
  readonly hook: string
  readonly kind: 'throw' | 'late' | 'never'
}

export interface Operation {
  readonly name: string
  readonly client: number
  readonly process: number
  readonly door: Door
  readonly caller: string
  readonly actions: readonly Action[]
  /** The idempotency key. */
  readonly key: string | undefined
  /** Whether another client sends the same with the same key. */
  readonly hasTwin: boolean
  /** Whether the client goes away before it has the response. */
  readonly isAborted: boolean
  readonly hookFault: HookFault | undefined
  /** Whether a batch is rolled back at its end. */
  readonly isDryRun: boolean
  /** Whether a transaction goes on when one of its calls is refused or fails. */
  readonly catchesErrors: boolean
  /** What each action is sent with in If-Match. Set when the operation is first sent. */
  tags: ReadonlyArray<KnownTag | undefined> | undefined
}

/** What operations are about. */
export interface Focus {
  readonly callers: readonly string[]
  readonly ids: readonly string[]
  readonly people: readonly string[]
  readonly groups: readonly string[]
}

export interface Config {
  readonly app: AppConfig
  readonly focus: Focus
  readonly isolation: Isolation
  readonly connections: number
  readonly hasFaults: boolean
  /** How the first process ends in the middle. Then another one takes its place. */
  readonly ending: 'close' | 'crash' | undefined
}

/** The new id of items that have moved. A request is redirected if there is no item with the old one. */
export const newIds: ReadonlyMap<string, string> = new Map([['a', 'c'], ['c', 'd'], ['d', 'b']])

export const itemIds = ['a', 'b', 'c', 'd'] as const
const personIds = ['p', 'q'] as const
const groups = ['g', 'h'] as const

const verbs: readonly Verb[] = [
  'read', 'read', 'list', 'walk', 'create', 'put', 'put', 'patch', 'patch', 'patch', 'restore', 'remove', 'add', 'add',
  'move', 'move', 'tally', 'bulkPatch', 'bulkPatch', 'bulkRemove', 'bulkRemove', 'bulkCreate',
  'readPerson', 'putPerson', 'removePerson', 'removePerson'
]
const doors: readonly Door[] = ['http', 'http', 'http', 'code', 'code', 'batch', 'transaction', 'transaction']
const bulkVerbs: ReadonlySet<Verb> = new Set(['bulkPatch', 'bulkRemove', 'bulkCreate'])
/** These are about several items. */
const wideVerbs: ReadonlySet<Verb> = new Set([...bulkVerbs, 'move', 'tally'])
/** These read several items by themselves. */
const unnestedVerbs: ReadonlySet<Verb> = new Set(['move', 'tally'])
/** These write items that were read or listed before. */
const writesAfterRead: readonly Verb[] = ['put', 'patch', 'remove', 'remove', 'add', 'bulkPatch', 'bulkRemove']
const keyedVerbs: ReadonlySet<Verb> = new Set([...wideVerbs, 'create', 'patch', 'add'])
const conditionalVerbs: ReadonlySet<Verb> = new Set(['read', 'put', 'patch', 'remove', 'add', 'restore'])

export const isAboutPerson = (verb: Verb): boolean => verb.endsWith('Person')
export const isBulk = (verb: Verb): boolean => bulkVerbs.has(verb)
export const isWide = (verb: Verb): boolean => wideVerbs.has(verb)

/** How many kinds of apps there are. To start one takes longer than a history. */
const appKinds = 24
/** With these, any two features occur together, only one of them, and neither of them. */
const firstAppKind = 10_700

function chooseApp (random: Random): AppConfig {
  // An app with few features runs code that each of the others would replace.
  const probability = random.pick([0.2, 0.6])
  return {
    hasSoftDelete: random.chance(probability),
    hasHooks: random.chance(probability),
    hasValidationHook: random.chance(probability),
    hasCommitHook: random.chance(probability),
    hasReferences: random.chance(probability),
    hasRefinement: random.chance(probability),
    hasRedirects: random.chance(probability),
    hasNested: random.chance(probability),
    hasSlowRules: random.chance(0.3),
    processes: 1 + random.below(2)
  }
}

/** Most histories are about few items, and callers who see the same, so that their operations meet. */
function chooseFocus (random: Random): Focus {
  const first = random.pick(itemIds)
  const second = random.pick(itemIds.filter((id) => id !== first))
  return {
    callers: random.pick([
      ['ann', 'bob', 'gus', 'root'],
      ['ann', 'root'],
      ['ann', 'root'],
      ['ann', 'ann', 'bob'],
      ['ann'],
      ['gus', 'root', 'root']
    ]),
    ids: random.pick([[first], [first], [first, second], itemIds]),
    people: random.chance(0.5) ? [random.pick(personIds)] : personIds,
    groups: random.chance(0.5) ? ['g'] : groups
  }
}

export function chooseConfig (random: Random): Config {
  const app = chooseApp(new Random(firstAppKind + random.below(appKinds)))
  const hasFaults = random.chance(0.6)
  return {
    app,
    focus: chooseFocus(random),
    connections: random.pick([3, 20]),
    isolation: random.pick(['locks', 'locks', 'optimistic', 'serializable']),
    hasFaults,
    ending: random.chance(0.05) ? random.pick(hasFaults ? ['close', 'crash', 'crash'] : ['close']) : undefined
  }
}

interface SeedRow {
  readonly table: string
  readonly row: Row
}

/**
 * What is stored when a history begins. With `isOther`, what the caller `ann` does not see is different: the hidden
 * properties, and the rows that are not in her scope.
 */
export function chooseRows (random: Random, { app, focus }: Config, isOther = false): SeedRow[] {
  const { hasSoftDelete, hasNested } = app
  const hidden = isOther ? 'other' : 'seed'
  const [deletionChance, astrayChance] = [random.pick([0.1, 0.4]), random.pick([0, 0, 0.3])]
  const chooseDeletion = () => hasSoftDelete && random.chance(deletionChance) ? { deletedAt: '2025-01-01T00:00:00.000Z' } : {}
  const people = personIds
    .filter(() => random.chance(0.7))
    .map((id) => {
      const shared = random.chance(0.7)
      const phone = isOther ? `tel-${hidden}` : `tel-${id}`
      return { table: 'people', row: { id, by: shared ? 'seed' : hidden, phone, shared, ...chooseDeletion() } }
    })
  const existing = people.filter(({ row }) => isLive(row)).map(({ row }) => row.id)
  const owners = focus.callers.filter((caller) => caller !== 'root')
  const items = itemIds.filter(() => random.chance(0.8)).map((id) => {
    const owner = random.pick(random.chance(0.6) ? owners : ['ann', 'bob', 'gus'])
    const [group, n] = [random.pick(focus.groups), random.below(3)]
    const deletion = chooseDeletion()
    // What a deleted item refers to may be gone.
    const personId = random.pick(isLive(deletion) ? [...hasNested ? [] : [undefined], ...existing] : personIds)
    const row = {
      id,
      owner,
      group,
      // Stored before there were hooks that move it.
      text: random.chance(astrayChance) ? 'astray' : `of-${owner}`,
      n,
      by: 'seed',
      secret: `hush-${isOther ? hidden : id}`,
      ...personId && { personId },
      ...deletion
    }
    const foreign = { ...row, owner: 'bob', group: 'g', text: `of-${hidden}`, n: 7, by: hidden }
    return { table: 'items', row: isOther && owner !== 'ann' ? foreign : row }
  })
  return [...people, ...items]
}

/** Chooses the operations of a history. */
export function choosePlan (random: Random, config: Config): Operation[] {
  const clients = 2 + random.below(4)
  const count = clients + random.below(clients * 4)
  const planner = new Planner(random, config, clients)
  return Array.from({ length: count }, (_, index) => planner.chooseOperation(`o${index}`))
}

/** One or two of them, a few, half of them, or all. */
function chooseSome<Value> (random: Random, values: readonly Value[]): readonly Value[] {
  const probability = random.pick([0.08, 0.15, 0.3, 0.5, 1])
  const some = values.filter(() => random.chance(probability))
  return some.length > 0 ? some : values
}

interface ActionChoice {
  readonly name: string
  readonly caller: string
  readonly door: Door
  readonly verb: Verb
  /** Chosen if possible. */
  readonly id: string | undefined
}

class Planner {
  readonly #random: Random
  readonly #config: Config
  readonly #clients: number
  readonly #focus: Focus
  /** In some histories, each operation is about one item, so that all of them wait in queues. */
  readonly #isSimple: boolean
  /** Most histories have some verbs and doors only, which meet more often then: swarm testing, Groce et al., 2012. */
  readonly #verbs: readonly Verb[]
  readonly #doors: readonly Door[]
  /** How often a client goes on with the item of the operation before, through the same door. */
  readonly #goesOnChance: number
  /** How often a transaction or batch first reads or lists items, and then writes them. */
  readonly #readsFirstChance: number
  /** How often an item gets a new reference. */
  readonly #referenceChance: number
  /** How often hooks move what is written out of the scope of its caller. */
  readonly #astrayChance: number
  #last: Operation | undefined

  constructor (random: Random, config: Config, clients: number) {
    this.#random = random
    this.#config = config
    this.#focus = config.focus
    this.#clients = clients
    this.#goesOnChance = random.pick([0.2, 0.5])
    this.#readsFirstChance = random.pick([0.3, 0.9])
    this.#referenceChance = random.pick([0.2, 0.3, 0.8])
    this.#astrayChance = random.pick([0.1, 0.1, 0.4])
    this.#isSimple = random.chance(0.25)
    this.#verbs = chooseSome(random, verbs)
    this.#doors = chooseSome(random, doors)
  }

  chooseOperation (name: string): Operation {
    const operation = this.#chooseAfter(name, this.#random.chance(this.#goesOnChance) ? this.#last : undefined)
    this.#last = operation
    return operation
  }

  /** With `last`, a client goes on with an item. */
  #chooseAfter (name: string, last: Operation | undefined): Operation {
    const random = this.#random
    const caller = last?.caller ?? random.pick(this.#focus.callers)
    const door = last !== undefined && random.chance(0.7) ? last.door : this.#chooseDoor()
    const hasParts = door === 'batch' || door === 'transaction'
    const length = hasParts ? 1 + random.below(3) : 1
    // What was read must not change before it is written, or the others are.
    const readsFirst = length > 1 && random.chance(this.#readsFirstChance)
    const actions = Array.from({ length }, (_, index) => {
      const isRead = readsFirst && index === 0
      const id = index === 0 ? last?.actions[0]!.id : undefined
      const verb = readsFirst ? this.#chooseReadOrWrite(door, isRead) : this.#chooseVerb(door)
      const action = this.#chooseAction({ name, caller, door, id, verb })
      return isRead ? { ...action, expands: false, personFilter: undefined } : action
    })
    const isDryRun = door === 'batch' && random.chance(0.15)
    const canHaveKey = door === 'batch' || (door === 'http' && keyedVerbs.has(actions[0]!.verb))
    const key = canHaveKey && !isDryRun && random.chance(0.6) ? `"${name}"` : undefined
    const hasTwin = key !== undefined && random.chance(0.4)
    return {
      name,
      client: last?.client ?? random.below(this.#clients),
      process: random.below(this.#config.app.processes),
      door,
      caller,
      actions,
      key,
      hasTwin,
      isAborted: this.#config.hasFaults && random.chance(0.12),
      hookFault: this.#chooseHookFault(door, { actions, hasTwin }),
      isDryRun,
      catchesErrors: door === 'transaction' && random.chance(0.4),
      tags: undefined
    }
  }

  #chooseDoor (): Door {
    return this.#random.pick(this.#isSimple ? ['http', 'code'] : this.#doors)
  }

  #chooseHookFault (
    door: Door,
    { actions, hasTwin }: Pick<Operation, 'actions' | 'hasTwin'>
  ): HookFault | undefined {
    const { hasFaults, app: { hasHooks, hasValidationHook, hasRefinement, hasRedirects } } = this.#config
    if (!hasFaults || !this.#random.chance(hasTwin ? 0.5 : 0.1)) return undefined
    const hooks = [
      ...hasValidationHook ? ['beforeValidation'] : [],
      ...hasHooks ? ['beforeWrite', 'afterWrite'] : [],
      ...hasRefinement ? ['refine'] : [],
      ...hasRedirects ? ['to'] : [],
      ...actions.some(({ verb }) => verb === 'add' || verb === 'move') ? ['run'] : []
    ]
    if (hooks.length === 0) return undefined
    const hook = this.#random.pick(hooks)
    // A transaction from code has no timeout.
    if (door === 'transaction') return { hook, kind: 'throw' }
    // Another request can claim the key of one that is late.
    return { hook, kind: this.#random.pick(hasTwin ? ['throw', 'late', 'late', 'never'] : ['throw', 'late', 'never']) }
  }

  #chooseVerb (door: Door): Verb {
    const fits = (verb: Verb) => this.#fits(verb, door)
    const fitting = this.#verbs.filter(fits)
    return this.#random.pick(fitting.length > 0 ? fitting : verbs.filter(fits))
  }

  #chooseReadOrWrite (door: Door, isRead: boolean): Verb {
    // A read locks the item. That of a batch is compared with its commit.
    if (isRead) return door === 'batch' ? this.#random.pick(['read', 'list']) : 'list'
    return this.#random.pick(writesAfterRead.filter((verb) => this.#fits(verb, door)))
  }

  #fits (verb: Verb, door: Door): boolean {
    // A part of a batch is about one item, or a list. In a transaction, a walk would see what it has written itself.
    if (door === 'batch' && isBulk(verb)) return false
    if (verb === 'walk' && (door === 'batch' || door === 'transaction')) return false
    return !(this.#isSimple && isWide(verb))
  }

  #chooseAction ({ name, caller, door, id: given, verb }: ActionChoice): Action {
    const random = this.#random
    const ids = isAboutPerson(verb) ? this.#focus.people : this.#focus.ids
    const id = given !== undefined && ids.includes(given) ? given : random.pick(ids)
    const isOverHttp = door === 'http' || door === 'batch'
    const testedNumber = verb === 'patch' && isOverHttp && random.chance(0.2) ? random.below(3) : undefined
    const isWhole = testedNumber !== undefined && random.chance(0.4)
    const contents = verb === 'bulkCreate' ? [random.pick(itemIds), random.pick(itemIds)] : []
    const canBeNested = this.#config.app.hasNested && isOverHttp && !isAboutPerson(verb) && !unnestedVerbs.has(verb)
    return {
      verb,
      id,
      parent: canBeNested && random.chance(0.2) ? random.pick(this.#focus.people) : undefined,
      to: this.#chooseOther(id),
      group: random.pick(this.#focus.groups),
      content: isWhole ? this.#chooseItem({ name, caller, id }) : this.#chooseContent(verb, { name, caller, id }),
      contents: contents.map((each) => this.#chooseContent('create', { name, caller, id: each })),
      isConditional: conditionalVerbs.has(verb) && (verb !== 'read' || door === 'http') && random.chance(0.5),
      mustCreate: verb === 'put' && isOverHttp && random.chance(0.15),
      testedNumber,
      isWhole,
      preference: door === 'http' && random.chance(0.2) ? random.pick(['minimal', 'representation']) : undefined,
      expands: (verb === 'read' || verb === 'list') && random.chance(0.3),
      personFilter: verb === 'list' && random.chance(0.4) ? this.#choosePersonFilter() : undefined,
      walk: verb === 'walk' ? this.#chooseWalk() : undefined
    }
  }

  /** Another item, of those that the history is about if possible. */
  #chooseOther (id: string): string {
    const isOther = (other: string) => other !== id
    const near = this.#focus.ids.filter(isOther)
    return this.#random.pick(near.length > 0 ? near : itemIds.filter(isOther))
  }

  #chooseWalk (): Walk {
    const random = this.#random
    return {
      property: random.pick(['id', 'n', 'code']),
      isDescending: random.chance(0.5),
      limit: 1 + random.below(2)
    }
  }

  /** A whole item, with the owner. */
  #chooseItem (context: { name: string, caller: string, id: string }): Row {
    return { owner: context.caller, ...this.#chooseContent('create', context) }
  }

  #choosePersonFilter (): Action['personFilter'] {
    const id = this.#random.pick(this.#focus.people)
    return this.#random.chance(0.7) ? { property: 'id', value: id } : { property: 'phone', value: `tel-${id}` }
  }

  #chooseContent (verb: Verb, { name, caller, id }: { name: string, caller: string, id: string }): Row {
    const random = this.#random
    if (verb === 'putPerson' && caller === 'root') {
      return { by: name, shared: random.chance(0.7), ...random.chance(0.5) && { phone: `tel-${id}` } }
    }
    if (isAboutPerson(verb) || isWide(verb) || verb === 'add') {
      return { by: name, ...verb === 'bulkPatch' && random.chance(0.3) && { group: 'h' } }
    }
    const owner = caller === 'root' ? random.pick(['ann', 'bob']) : caller
    const optional = {
      ...random.chance(0.3) && { code: random.pick(['x', 'y']) },
      ...random.chance(this.#referenceChance) && { personId: random.pick(this.#focus.people) },
      ...caller === 'root' && random.chance(0.5) && { secret: `hush-${name}` }
    }
    if (verb === 'create' || verb === 'put') {
      return {
        ...verb === 'create' && { id },
        ...caller === 'root' && { owner },
        group: random.pick(this.#focus.groups),
        text: random.chance(this.#astrayChance) ? 'astray' : ` of-${owner}`,
        n: random.below(10),
        by: name,
        ...optional
      }
    }
    return {
      by: name,
      ...random.chance(0.5) && { group: random.pick(groups) },
      ...random.chance(this.#astrayChance) && { text: 'astray' },
      ...optional
    }
  }
}

/** The value of the parameter `sort`. */
export function toSort ({ property, isDescending }: Walk): string {
  return isDescending ? `-${property}` : property
}

/** For the history. */
export function describeOperation (operation: Operation): string {
  const { door, caller, process, actions, key, tags, hookFault, isAborted, isDryRun, catchesErrors } = operation
  const list = actions.map((action, index) => {
    const { verb, content, contents } = action
    const { mustCreate, testedNumber, isWhole, preference, expands, personFilter, walk } = action
    const extra = [
      tags?.[index] && 'with a tag',
      mustCreate && 'must create',
      testedNumber !== undefined && `tests n=${testedNumber}`,
      isWhole && 'replaces the item',
      preference,
      expands && 'with the person',
      personFilter && `person.${personFilter.property}=${personFilter.value}`,
      walk && `by ${toSort(walk)}, ${walk.limit} on a page`
    ].filter(Boolean).join(', ')
    return `${verb} ${describePlace(action)} ${extra} ${JSON.stringify(contents.length > 0 ? contents : content)}`
  })
  const extra = [
    key && `key ${key}`,
    hookFault && `${hookFault.hook}: ${hookFault.kind}`,
    isAborted && 'aborted',
    isDryRun && 'dry run',
    catchesErrors && 'catches errors'
  ].filter(Boolean)
  return `${door} ${process} ${caller}: ${list.join('; ')} ${extra.length > 0 ? `(${extra.join(', ')})` : ''}`
}

function describePlace ({ verb, id, parent, to, group }: Action): string {
  const place = parent === undefined ? '' : `within ${parent}, `
  if (verb === 'list' || verb === 'walk' || isBulk(verb)) return `${place}group=${group}`
  if (parent !== undefined) return place + id
  return verb === 'move' ? `${id} to ${to}` : id
}

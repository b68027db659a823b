import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { showEach, showRow, toPath } from './model.ts'
import { toSort } from './plan.ts'
import type { Action, KnownTag, Operation } from './plan.ts'
import type { Calls, Service, Stored } from './service.ts'
import type { Row } from './transaction.ts'
import { running } from './world.ts'
import type { World } from './world.ts'

// How each operation goes through its door: a request, a call from code, a batch, or a transaction from code.

/** The part of a batch or transaction that was refused. */
export interface RefusedPart {
  readonly index: number
  readonly status: number
  readonly code: string
}

export interface Result {
  /** 0 if there is no response. */
  readonly status: number
  readonly code?: string | undefined
  readonly detail?: string | undefined
  /** What each action has led to, in the form of the model. For a refused transaction from code: what came before. */
  readonly bodies: readonly unknown[]
  /** Everything that was sent. */
  readonly text: string
  readonly isReplayed?: boolean
  readonly part?: RefusedPart | undefined
}

interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly content?: unknown
  readonly headers?: Record<string, string>
}

interface Fetched {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly text: string
  readonly value: any
}

function toRequest (action: Action): HttpRequest {
  const { verb, id, to, group, content, contents } = action
  const items = toPath(action)
  const path = `${items}/${id}`
  switch (verb) {
    case 'read': return { method: 'GET', path: `${path}${action.expands ? '?expand=person' : ''}` }
    case 'list':
    case 'walk': return { method: 'GET', path: `${items}?${toQueryString(action)}` }
    case 'create': return { method: 'POST', path: items, content }
    case 'bulkCreate': return { method: 'POST', path: items, content: contents }
    case 'put': return { method: 'PUT', path, content }
    case 'patch': return { method: 'PATCH', path, content: toPatch(action) }
    case 'restore': return { method: 'PATCH', path, content: { ...content, deletedAt: null } }
    case 'remove': return { method: 'DELETE', path }
    case 'add': return { method: 'POST', path: `${path}/add`, content }
    case 'move': return { method: 'POST', path: '/items/move', content: { from: id, to, ...content } }
    case 'tally': return { method: 'POST', path: '/items/tally', content }
    case 'bulkPatch': return { method: 'PATCH', path: `${items}?group=${group}`, content }
    case 'bulkRemove': return { method: 'DELETE', path: `${items}?group=${group}` }
    case 'readPerson': return { method: 'GET', path: `/people/${id}` }
    case 'putPerson': return { method: 'PUT', path: `/people/${id}`, content }
    case 'removePerson': return { method: 'DELETE', path: `/people/${id}` }
  }
}

function toQueryString ({ group, expands, personFilter, walk }: Action): string {
  return new URLSearchParams({
    group,
    sort: walk === undefined ? 'id' : toSort(walk),
    ...walk && { limit: String(walk.limit) },
    ...expands && { expand: 'person' },
    ...personFilter && { [`person.${personFilter.property}`]: personFilter.value }
  }).toString()
}

/** A merge patch, or a JSON Patch with the same result. */
function toPatch ({ content, testedNumber, isWhole }: Action): object {
  if (testedNumber === undefined) return content
  const changes = isWhole ? [{ op: 'replace', path: '', value: content }] : toOperations(content)
  return [{ op: 'test', path: '/n', value: testedNumber }, ...changes]
}

function toOperations (content: Row): object[] {
  return Object.entries(content).map(([name, value]) => ({ op: 'add', path: `/${name}`, value }))
}

/** Calls the method of an action. Returns the item, the items, or the number of items. */
async function callMethod (service: Service, action: Action, options: object): Promise<Stored | Stored[] | undefined> {
  const { items, people } = service
  const { verb, id, to, group, content, contents } = action
  const query = { filter: { group } }
  const expand = action.expands ? { expand: ['person'] } : {}
  switch (verb) {
    case 'read': return items.read(id, { ...options, ...expand })
    case 'list': return collect(items.list({ filter: toFilter(action), sort: ['id'], ...expand }, options))
    case 'walk': return collectPages(items, action, options)
    case 'create': return items.create(content, options)
    case 'bulkCreate': return items.createMany(contents, options)
    case 'put': return items.replace(id, content, options)
    case 'patch': return items.update(id, content, options)
    case 'restore': return items.update(id, { ...content, deletedAt: null }, options)
    case 'remove': return nothing(items.remove(id, options))
    case 'add': return items.add(id, content, options)
    case 'move': return nothing(items.move({ from: id, to, ...content }, options))
    case 'tally': return nothing(items.tally(content, options))
    case 'bulkPatch': return items.updateMany(query, content, options)
    case 'bulkRemove': return items.removeMany(query, options)
    case 'readPerson': return people.read(id, options)
    case 'putPerson': return people.replace(id, content, options)
    case 'removePerson': return nothing(people.remove(id, options))
  }
}

function toFilter ({ group, personFilter }: Action): object {
  return { group, ...personFilter && { person: { [personFilter.property]: personFilter.value } } }
}

async function collect (entries: AsyncIterable<Stored>): Promise<Stored[]> {
  const all: Stored[] = []
  for await (const entry of entries) all.push(entry)
  return all
}

async function collectPages (items: Calls, { group, walk }: Action, options: object): Promise<Stored[]> {
  const { limit } = walk!
  const all: Stored[] = []
  const query = { filter: { group }, sort: [toSort(walk!)], limit }
  for await (const { entries } of items.pages(query, options)) all.push(...entries)
  return all
}

async function nothing (done: Promise<void>): Promise<undefined> {
  await done
}

/** What an action has led to, in the form of the model. Content that only repeats what was sent is left out. */
function toBody ({ verb }: Action, caller: string, value: unknown): unknown {
  if (value === undefined) return undefined
  switch (verb) {
    case 'list':
    case 'walk': return showEach((value as Row[]).map((row) => showIncluded(row, caller)), caller)
    case 'bulkPatch':
    case 'bulkRemove': return (value as { count: number }).count
    case 'bulkCreate':
    case 'move':
    case 'tally': return undefined
    default: return showRow(showIncluded(value as Row, caller), caller)
  }
}

/** The model shows an included person as text. */
function showIncluded (row: Row, caller: string): Row {
  const { person } = row
  return typeof person === 'object' && person !== null ? { ...row, person: showRow(person as Row, caller) } : row
}

/** How an attempt is sent. */
interface Sending {
  readonly name: string
  readonly process: number
  /** The errors that a transaction catches, by the index of the call. */
  readonly caught: Map<number, Failure>
  /** Called when the function of a transaction is. */
  readonly onRun: () => void
}

/** Which service has each process. A process that has ended has another one when it comes back. */
export type FindService = (process: number) => Service

export class Doors {
  /** By the name of the attempt. */
  readonly responses = new Map<string, ServerResponse>()
  readonly #controllers = new Map<string, AbortController>()
  readonly #world: World
  readonly #findService: FindService
  /** Called when the process of an attempt has died. */
  readonly #lost = new Map<Service, Array<(result: Result) => void>>()
  /** What each client remembers of each item. */
  readonly #tags = new Map<string, KnownTag>()

  constructor (world: World, findService: FindService) {
    this.#world = world
    this.#findService = findService
  }

  /** Sends an operation through its door, under the name of the attempt. */
  send (operation: Operation, sending: Sending): Promise<Result> {
    const { name, process } = sending
    operation.tags ??= operation.actions.map((action) => {
      return action.isConditional ? this.#tags.get(this.#toMemoryKey(operation, action)) : undefined
    })
    const service = this.#findService(process)
    const done = running.run(name, () => {
      if (operation.door === 'http') return this.#sendRequest(service, operation, name)
      if (operation.door === 'batch') return this.#sendBatch(service, operation, name)
      return this.#call(service, operation, sending)
    })
    return new Promise((resolve, reject) => {
      done.then(resolve, reject)
      this.#lost.set(service, [...this.#lost.get(service) ?? [], resolve])
    })
  }

  /** No attempt at this process gets its response. */
  lose (service: Service): void {
    for (const resolve of this.#lost.get(service) ?? []) resolve(toLostResponse('the process has died'))
  }

  /** The client goes away. */
  abort (name: string): void {
    this.#world.log(`  the client of ${name} goes away`)
    this.responses.get(name)?.destroy()
    this.#controllers.get(name)?.abort()
  }

  /** Entity tags of code are not those of HTTP. */
  #toMemoryKey ({ client, caller, door }: Operation, { id }: Action): string {
    return [client, caller, door === 'http' || door === 'batch', id].join('/')
  }

  #remember (operation: Operation, action: Action, { tag, body }: { tag: string | undefined, body: unknown }): void {
    if (tag === undefined || typeof body !== 'string' || isOfMany(action) || action.expands) return
    this.#tags.set(this.#toMemoryKey(operation, action), { tag, shown: body })
  }

  #inject (service: Service, { caller, key }: Operation, name: string, request: HttpRequest) {
    const { method, path, content, headers: given } = request
    const headers = { 'x-user': caller, 'x-attempt': name, ...key && { 'idempotency-key': key }, ...given }
    const payload = content === undefined ? {} : { payload: content as object }
    return service.app.inject({ method, url: path, headers, ...payload })
  }

  async #sendRequest (service: Service, operation: Operation, name: string): Promise<Result> {
    const [action] = operation.actions as [Action]
    try {
      const request = { ...toRequest(action), headers: toHeaders(action, operation.tags![0]) }
      const { status, headers, text, value } = action.verb === 'walk'
        ? await this.#followLinks(service, operation, name, request)
        : await this.#fetch(service, operation, name, request)
      if (status >= 400) return { status, code: value.code, detail: value.detail, bodies: [], text }
      const body = status === 301 ? headers.location : toBody(action, operation.caller, value)
      this.#remember(operation, action, { tag: headers.etag, body })
      return { status, bodies: [body], text, isReplayed: headers['idempotent-replayed'] === 'true' }
    } catch (error) {
      return toLostResponse(error)
    }
  }

  async #fetch (service: Service, operation: Operation, name: string, request: HttpRequest): Promise<Fetched> {
    const { statusCode: status, headers, body, json } = await this.#inject(service, operation, name, request)
    return { status, headers, text: toText(headers, body), value: body === '' ? undefined : json() }
  }

  /** All pages as one response. */
  async #followLinks (service: Service, operation: Operation, name: string, request: HttpRequest): Promise<Fetched> {
    const items: unknown[] = []
    const texts: string[] = []
    for (let path: string | undefined = request.path; path !== undefined;) {
      const page = await this.#fetch(service, operation, name, { ...request, path })
      if (page.status !== 200) return page
      items.push(...page.value)
      texts.push(page.text)
      path = /<([^>]*)>; rel="next"/.exec(String(page.headers.link))?.[1]
    }
    return { status: 200, headers: {}, text: texts.join('\n'), value: items }
  }

  async #sendBatch (service: Service, operation: Operation, name: string): Promise<Result> {
    const { actions, caller, tags } = operation
    const content = actions.map((action, index) => {
      const known = tags![index]
      return {
        ...toRequest(action),
        ...known && { ifMatch: known.tag },
        ...action.mustCreate && { ifNoneMatch: '*' }
      }
    })
    try {
      const path = operation.isDryRun ? '/batch?dryRun=true' : '/batch'
      const request = { method: 'POST', path, content } as const
      const { statusCode: status, headers, body: sent, json } = await this.#inject(service, operation, name, request)
      const text = toText(headers, sent)
      const value = json()
      if (status >= 400) {
        const { code, detail, part, problem = {} } = value
        const refused = part && { index: part.index, status: problem.status ?? status, code: problem.code ?? code }
        return { status, code, detail, bodies: [], text, part: refused }
      }
      const bodies = actions.map((action, index) => toBody(action, caller, value[index].content))
      for (const [index, action] of actions.entries()) {
        this.#remember(operation, action, { tag: value[index].etag, body: bodies[index] })
      }
      return { status, bodies, text, isReplayed: headers['idempotent-replayed'] === 'true' }
    } catch (error) {
      return toLostResponse(error)
    }
  }

  async #call (service: Service, operation: Operation, { name, caught, onRun }: Sending): Promise<Result> {
    const { actions, caller, tags, door, catchesErrors } = operation
    const controller = new AbortController()
    this.#controllers.set(name, controller)
    const bodies: unknown[] = []
    let index = 0
    const callAll = async (transaction?: object): Promise<void> => {
      onRun()
      bodies.length = 0
      caught.clear()
      for (index = 0; index < actions.length; index++) {
        const body = await callOne(transaction).catch((error: unknown) => {
          if (!catchesErrors) throw error
          caught.set(index, toFailure(error))
        })
        bodies.push(body)
      }
    }
    const callOne = async (transaction: object | undefined): Promise<unknown> => {
      const action = actions[index]!
      const known = tags![index]
      const options = {
        caller,
        signal: controller.signal,
        ...transaction && { transaction },
        ...known && { ifMatch: known.tag }
      }
      const value = await callMethod(service, action, options)
      const items = Array.isArray(value) ? value.map(({ item }) => item) : value?.item ?? value
      const body = toBody(action, caller, items)
      if (!Array.isArray(value)) this.#remember(operation, action, { tag: value?.tag, body })
      return body
    }
    try {
      if (door === 'transaction') await service.items.transaction((transaction) => callAll(transaction))
      else await callAll()
      return { status: 200, bodies, text: JSON.stringify(bodies) }
    } catch (error) {
      const failure = toFailure(error)
      // What was caught may have undone the transaction. An action converts what a call inside of it was refused with,
      // and a call that is refused can be aborted before it ends.
      const isSame = ([, { status, code }]: [number, Failure]) => status === failure.status && code === failure.code
      const isInAction = ([at]: [number, Failure]) => isOnCollection(actions[at]!)
      const [cause] = [...caught].find(isSame) ?? [...caught].find(isInAction) ?? [...caught][0] ?? [index]
      const part = { index: cause, status: failure.status, code: failure.code }
      const text = String(error)
      return door === 'transaction' ? { ...failure, bodies, text, part } : { ...failure, bodies: [], text }
    }
  }
}

/** Whether it is a custom action that calls others. */
function isOnCollection ({ verb }: Action): boolean {
  return verb === 'move' || verb === 'tally'
}

function isOfMany ({ verb }: Action): boolean {
  return verb === 'list' || verb === 'walk'
}

function toHeaders (action: Action, known: KnownTag | undefined): Record<string, string> {
  const { verb, mustCreate, testedNumber, preference } = action
  return {
    ...known && { [verb === 'read' ? 'if-none-match' : 'if-match']: known.tag },
    ...mustCreate && { 'if-none-match': '*' },
    ...testedNumber !== undefined && { 'content-type': 'application/json-patch+json' },
    ...preference && { prefer: `return=${preference}` }
  }
}

/** The date is that of Node.js. */
function toText ({ date, ...headers }: object & { date?: unknown }, content: string): string {
  return JSON.stringify(headers) + content
}

function toLostResponse (error: unknown): Result {
  return { status: 0, code: 'aborted', bodies: [], text: String(error) }
}

interface ThrownValue {
  readonly name?: string
  readonly message?: string
  readonly code?: string
  readonly statusCode?: number
  readonly unreachable?: boolean
  readonly problem?: { readonly status: number, readonly detail?: string }
}

/** What the error of a call says, as a response would. */
export interface Failure {
  readonly status: number
  readonly code: string
  readonly detail: string
}

function toFailure (error: unknown): Failure {
  const { name = '', message = '', code = name, statusCode, unreachable, problem } = Object(error) as ThrownValue
  const status = statusCode ?? problem?.status ?? (unreachable === true ? 503 : 500)
  return { status, code, detail: problem?.detail ?? message }
}

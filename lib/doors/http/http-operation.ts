import type { Collection } from '../../engine/collection.ts'
import { getSteps } from '../../engine/engine.ts'
import type { Exchange, Operation, Outcome, Steps } from '../../engine/operation.ts'
import { applyPatch, parsePatch } from './patch.ts'
import { checkPreconditions, dependsOnItem } from './preconditions.ts'
import type { ActionInfo } from '../../engine/action-info.ts'
import { parseIJson } from '../../formats/i-json.ts'
import { Problem } from '../../http/problems.ts'
import { mergeQueries } from '../../query/list-query.ts'
import type { ListQuery } from '../../query/list-query.ts'
import { parseQueryContent } from '../../query/query-content.ts'
import { parseItemQuery, parseListQuery } from '../../query/query-string.ts'
import { parseContent, readContent, readInput } from './content.ts'
import type { ParsedContent, Request } from './request.ts'
import type { Response } from './response.ts'
import { withPage } from './html-page.ts'
import { buildPage } from './page.ts'
import {
  renderEntry,
  renderGroups,
  renderPage,
  renderReadOutput,
  renderWrite,
  returnsRemoved
} from './render.ts'
import { withTrace } from './trace-action.ts'
import type { Action } from './trace-action.ts'

// The door for HTTP: a request becomes an operation, and its outcome a response.

/** Creates the function that handles the requests of an action. */
export function createAction (collection: Collection, action: ActionInfo): Action {
  const steps = getSteps(collection, action, { door: 'http', isJoined: false })
  const { at, reads, takes, query } = action
  const handle: Action = async (request) => {
    const exchange = new HttpExchange(collection, request)
    const operation = new HttpOperation(collection, { action, steps, exchange })
    const outcome = await steps.run(operation)
    if (outcome instanceof Problem) return outcome
    if (outcome.kind === 'page') {
      const isPlain = takes !== 'query' && outcome.isPrivate !== true
      return isPlain ? buildPage(collection, request, outcome) : renderPage(collection, request, outcome)
    }
    if (outcome.kind === 'groups') return renderGroups(collection, request, outcome)
    if (reads && outcome.kind === 'output') return renderReadOutput(collection, request, outcome)
    if (outcome.kind !== 'entry' || !reads) return exchange.render(outcome)
    return renderEntry(collection, request, outcome)
  }
  const paged = withPage(collection, { action: handle, at, safe: reads, isAggregate: query === 'groups' })
  return withTrace({ collection: collection.name, action: action.name }, paged)
}

class HttpExchange implements Exchange {
  readonly request: Request
  readonly #collection: Collection
  #last: { readonly outcome: Outcome, readonly response: Response } | undefined

  constructor (collection: Collection, request: Request) {
    this.request = request
    this.#collection = collection
  }

  /** A receipt is rendered before the commit. The same response is sent after it. */
  render (outcome: Outcome): Response {
    if (this.#last?.outcome !== outcome) {
      this.#last = { outcome, response: renderWrite(this.#collection, this.request, outcome) }
    }
    return this.#last.response
  }
}

interface OperationParts {
  readonly action: ActionInfo
  readonly steps: Steps
  readonly exchange: Exchange
}

/** A request, as the engine sees it. Layers may change copies that inherit from it, so it has no private members. */
class HttpOperation implements Operation {
  readonly door = 'http'
  readonly isApp = false
  readonly action: ActionInfo
  readonly steps: Steps
  readonly exchange: Exchange
  readonly collection: Collection
  readonly customAction: Operation['customAction']
  readonly segment: string
  readonly id: Operation['id']
  readonly fixed: Operation['fixed']
  readonly view: Operation['view']
  readonly caller: Operation['caller']
  readonly initiator: Operation['initiator']
  readonly scope: Operation['scope']
  readonly parentScope: Operation['parentScope']
  readonly storage: Operation['storage']
  readonly context: Operation['context']
  readonly log: Operation['log']
  readonly request: Operation['request']
  readonly check: Operation['check']
  readonly canCreate: boolean
  readonly returnsRemoved: boolean

  constructor (collection: Collection, { action, steps, exchange }: OperationParts) {
    const { request } = exchange
    this.action = action
    this.steps = steps
    this.exchange = exchange
    this.collection = collection
    this.customAction = action.custom?.name
    this.segment = request.segment
    this.id = action.at === 'item' ? collection.id.read(request.segment) : undefined
    this.fixed = request.fixed
    this.view = request.view
    this.caller = request.caller
    this.initiator = request.caller
    this.scope = request.scope
    this.parentScope = request.parentScope
    this.storage = collection.storage
    this.context = request.context
    this.log = request.log
    this.request = request.original
    this.check = !action.reads && dependsOnItem(request)
      ? (entry) => checkPreconditions(request, entry)
      : undefined
    this.canCreate = request.canCreate
    this.returnsRemoved = action.key === 'remove' && returnsRemoved(request)
  }

  getRawQuery (): unknown {
    const { request } = this.exchange
    if (this.action.takes !== 'query') return request.query
    const content = parseContent(request, parseIJson, this.collection.schema)
    // An invalid one is refused when it is parsed.
    return content instanceof Problem ? request.query : [request.query, content.value]
  }

  query (): ListQuery | Problem {
    const { request: { format, view: { type } } } = this.exchange
    const listQuery = this.parseQuery()
    // The entity tag for a caller who does not see all properties is computed from those that it sees.
    const needsWholeItems = format.hasTags === true && type.hidden !== undefined
    return needsWholeItems && !(listQuery instanceof Problem) ? { ...listQuery, needsWholeItems } : listQuery
  }

  parseQuery (): ListQuery | Problem {
    const { request } = this.exchange
    const { lists } = this.view
    const { query, takes, aggregate } = this.action
    if (query === 'item') return parseItemQuery(lists, request)
    if (aggregate !== undefined) return aggregate.parseString(lists, request)
    const inString = parseListQuery(lists, request)
    if (takes !== 'query' || inString instanceof Problem) return inString
    const content = parseContent(request, parseIJson, this.collection.schema)
    if (content instanceof Problem) return content
    const inContent = parseQueryContent(lists, content.value)
    return inContent instanceof Problem ? inContent : mergeQueries(inString, inContent)
  }

  content (): ParsedContent | Problem {
    const { custom, takes } = this.action
    const { request } = this.exchange
    if (takes === 'parameters') return { value: custom!.readQuery!(request.query) }
    if (takes === 'bulkPatch') return parsePatch(request)
    const { http: { formats }, schema } = this.collection
    return custom === undefined
      ? readContent(formats, request, schema)
      : readInput(formats, request, custom.input)
  }

  patch (item: object): ParsedContent | Problem {
    return applyPatch(this.exchange.request, item)
  }
}

import type { Collection } from '../collection.ts'
import type { ActionName } from '../action.ts'
import type { ResponseObject } from '../features/feature.ts'
import type { Rule } from '../access/rules.ts'
import type { Components } from './components.ts'
import type { Content, Contents } from './contents.ts'
import { headersOf } from './fields.ts'
import type { AnsweredField } from './fields.ts'
import { problemResponse } from './problem.ts'

/** An action as it is served, and what is known of the app around it. */
export interface Situation {
  readonly collection: Collection
  readonly action: ActionName
  /** Whether the document names credentials. */
  readonly secured: boolean
  /** Whether the app limits how often it is asked. */
  readonly limited: boolean
}

const sends: ReadonlySet<ActionName> = new Set(['create', 'replace', 'update'])
const targetsItem: ReadonlySet<ActionName> = new Set(['read', 'replace', 'update', 'remove'])
const constrained: ReadonlySet<ActionName> = new Set(['replace', 'update', 'remove'])

/** Who may do it, and who may see the item that it lies in. */
function rulesOf ({ collection: { access, parent }, action }: Situation): Rule[] {
  return [access?.allow[action], parent?.collection.access?.allow.read].filter(rule => rule !== undefined)
}

function asksWho (situation: Situation): boolean {
  return situation.secured || rulesOf(situation).some(rule => rule !== 'public')
}

/** Every status that refuses, and when it can. */
const refusals: ReadonlyArray<readonly [status: number, when: (situation: Situation) => boolean]> = [
  [400, () => true],
  [401, asksWho],
  [403, asksWho],
  // A predicate can refuse as if there were nothing.
  [404, situation => targetsItem.has(situation.action) || situation.collection.parent !== undefined || rulesOf(situation).some(rule => typeof rule === 'function')],
  [406, ({ action }) => action !== 'remove'],
  [409, ({ action }) => sends.has(action) || action === 'remove'],
  [412, () => true],
  [413, ({ action }) => sends.has(action)],
  [415, ({ action }) => sends.has(action)],
  [422, ({ action }) => sends.has(action)],
  [428, ({ collection, action }) => collection.etag.required && constrained.has(action)],
  [429, ({ limited }) => limited],
  [500, () => true],
  [503, () => true]
]

interface Success {
  readonly status: number
  readonly description: string
  readonly fields: readonly AnsweredField[]
  readonly content?: (contents: Contents) => Content
  readonly when?: (collection: Collection) => boolean
}

const item = (contents: Contents): Content => contents.item()
const validators = ['ETag', 'Last-Modified', 'Link'] as const
const preferred = 'It is done, and the representation is left out, as the client prefers'

const successes: Readonly<Record<ActionName, readonly Success[]>> = {
  list: [
    { status: 200, description: 'A page of the items', fields: ['ETag', 'Link', 'X-Total-Count'], content: contents => contents.list() },
    { status: 304, description: 'The client has it already', fields: ['ETag', 'Link', 'X-Total-Count'] }
  ],
  read: [
    { status: 200, description: 'The item', fields: validators, content: item },
    { status: 304, description: 'The client has it already', fields: validators }
  ],
  create: [
    { status: 201, description: 'It was made', fields: ['Location', 'Content-Location', ...validators], content: contents => contents.item() }
  ],
  replace: [
    { status: 200, description: 'It was replaced', fields: ['Content-Location', ...validators], content: item },
    { status: 201, description: 'It was made', fields: ['Location', 'Content-Location', ...validators], content: item, when: ({ put }) => put.create },
    { status: 204, description: preferred, fields: validators }
  ],
  update: [
    { status: 200, description: 'It was changed', fields: ['Content-Location', ...validators], content: item },
    { status: 204, description: preferred, fields: validators }
  ],
  remove: [
    { status: 200, description: 'The item that was removed, where the client prefers to see it', fields: [], content: item },
    { status: 204, description: 'It was removed', fields: [] }
  ]
}

/** On every answer, and on those of some collections alone. */
const everywhere: readonly AnsweredField[] = ['Cache-Control', 'Vary', 'Preference-Applied']
const offered: Readonly<Partial<Record<AnsweredField, (collection: Collection) => boolean>>> = {
  'X-Total-Count': ({ listing }) => listing.parameters.has('count')
}

function fieldsOf (collection: Collection, action: ActionName, fields: readonly AnsweredField[]): AnsweredField[] {
  const group: AnsweredField = action === 'list' || action === 'read' ? 'Cache-Groups' : 'Cache-Group-Invalidation'
  return [...[...fields, ...everywhere].filter(field => offered[field]?.(collection) !== false), ...collection.groups === undefined ? [] : [group]]
}

/** Every answer that an action can give, by status. */
export function answersOf (components: Components, situation: Situation, contents: Contents): Record<string, ResponseObject> {
  const { collection, action } = situation
  const answers: Record<string, ResponseObject> = {}
  for (const { status, description, fields, content, when } of successes[action]) {
    if (when?.(collection) === false) continue
    answers[status] = { description, headers: headersOf(components, fieldsOf(collection, action, fields)), ...content && { content: content(contents) } }
  }
  // Admin interfaces read what a DELETE has removed without asking for it.
  if (action === 'remove' && collection.attached.returnsRemoved) answers[200] = { ...answers[200], description: 'The item that was removed' }
  const profiled = collection.attached.hooks.onProblem.length > 0
  for (const [status, when] of refusals) {
    if (when(situation)) answers[status] = problemResponse(components, status, profiled)
  }
  return answers
}

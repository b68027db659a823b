import type { LightMyRequestResponse } from 'fastify'
import { ProblemError } from '../../lib/index.ts'
import type { CallOptions, Entry } from '../../lib/index.ts'
import type { NoteCalls, Served } from './collections.ts'

// What test/doors.test.ts does with each combination of features, over HTTP and from code. Later steps depend on what
// earlier ones have stored.

interface RequestParts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'QUERY'
  /** After the path of the collection. */
  readonly target?: string
  readonly content?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Who sends it. `root` may do everything, `ada` may not remove. */
  readonly user?: 'root' | 'ada' | 'nobody'
}

export interface Step {
  readonly title: string
  /** Undefined if clients have nothing like it. */
  readonly request?: RequestParts
  /** Undefined if calls from code have nothing like it. `ada` and `nobody` call with `caller`. */
  call? (notes: NoteCalls, options: CallOptions): Promise<unknown>
  /** Who calls, if it is not the one whom all calls of this run are made for. */
  readonly caller?: 'ada' | undefined
}

const first = { id: 'n1', text: 'first', authorId: 'ada' }
const second = { id: 'n2', text: 'second', secret: 'x', authorId: 'ada' }
const firstTwo = { filter: { 'id.in': ['n1', 'n2'] } }
const staleTag = '"0.json"'

export const steps: readonly Step[] = [
  {
    title: 'create',
    request: { method: 'POST', content: first },
    call: (notes, options) => notes.create(first, options)
  },
  {
    title: 'create an id that exists',
    request: { method: 'POST', content: first },
    call: (notes, options) => notes.create(first, options)
  },
  {
    title: 'create an invalid item',
    request: { method: 'POST', content: { id: 'n7', text: 7, authorId: 'ada' } },
    call: (notes, options) => notes.create({ id: 'n7', text: 'x'.repeat(31), authorId: 'ada' }, options)
  },
  {
    title: 'create with a hidden property',
    request: { method: 'POST', content: second },
    call: (notes, options) => notes.create(second, options)
  },
  {
    title: 'create with a key',
    request: { method: 'POST', content: { ...first, id: 'n3' }, headers: { 'idempotency-key': '"k"' } }
  },
  {
    title: 'repeat it',
    request: { method: 'POST', content: { ...first, id: 'n3' }, headers: { 'idempotency-key': '"k"' } }
  },
  {
    title: 'create several',
    request: { method: 'POST', content: [{ ...first, id: 'n4' }, { ...first, id: 'n5' }] }
  },
  {
    title: 'read',
    request: { method: 'GET', target: '/n1' },
    call: (notes, options) => notes.read('n1', options)
  },
  {
    title: 'read what is missing',
    request: { method: 'GET', target: '/n9' },
    call: (notes, options) => notes.read('n9', options)
  },
  {
    title: 'read what has moved',
    request: { method: 'GET', target: '/old' },
    call: (notes, options) => notes.read('old', options)
  },
  {
    title: 'list',
    request: { method: 'GET', target: '?sort=-id&text=first&count=true' },
    call: (notes, options) => collect(notes.list({ sort: ['-id'], filter: { text: 'first' } }, options))
  },
  {
    title: 'query',
    request: { method: 'QUERY', content: { q: 'first', limit: 1 } },
    call: (notes, options) => collect(notes.list({ q: 'first', limit: 1 }, options))
  },
  {
    title: 'list what is related',
    request: { method: 'GET', target: '?expand=author' }
  },
  {
    title: 'list by offset',
    request: { method: 'GET', target: '?offset=1&limit=1' }
  },
  {
    title: 'replace',
    request: { method: 'PUT', target: '/n1', content: { ...first, text: 'replaced' } },
    call: (notes, options) => notes.replace('n1', { ...first, text: 'replaced' }, options)
  },
  {
    title: 'replace by the same',
    request: { method: 'PUT', target: '/n1', content: { ...first, text: 'replaced' } },
    call: (notes, options) => notes.replace('n1', { ...first, text: 'replaced' }, options)
  },
  {
    title: 'replace what has changed',
    request: { method: 'PUT', target: '/n1', content: { text: 7 }, headers: { 'if-match': staleTag } },
    call: (notes, options) => notes.replace('n1', { text: 'x' }, { ...options, ifMatch: staleTag })
  },
  {
    title: 'replace what is missing',
    request: { method: 'PUT', target: '/n9', content: { ...first, id: 'n9' } },
    call: (notes, options) => notes.replace('n9', { ...first, id: 'n9' }, options)
  },
  {
    title: 'update',
    request: { method: 'PATCH', target: '/n1', content: { rank: 1 } },
    call: (notes, options) => notes.update('n1', { rank: 1 }, options)
  },
  {
    title: 'update nothing',
    request: { method: 'PATCH', target: '/n1', content: {} },
    call: (notes, options) => notes.update('n1', {}, options)
  },
  {
    title: 'update with an invalid value',
    request: { method: 'PATCH', target: '/n1', content: { rank: 'high' } },
    call: (notes, options) => notes.update('n1', { text: 'x'.repeat(31) }, options)
  },
  {
    title: 'update with a key',
    request: {
      method: 'PATCH',
      target: '/n1',
      content: [{ op: 'replace', path: '/rank', value: 2 }],
      headers: { 'content-type': 'application/json-patch+json', 'idempotency-key': '"u"' }
    },
    call: (notes, options) => notes.update('n1', [{ op: 'replace', path: '/rank', value: 2 }], options)
  },
  ...['beforeValidation', 'beforeWrite', 'afterWrite', 'afterCommit'].flatMap((hook): readonly Step[] => [
    {
      title: `update, and ${hook} refuses`,
      request: { method: 'PATCH', target: '/n2', content: { text: `${hook} refuses` } },
      call: (notes, options) => notes.update('n2', { text: `${hook} refuses` }, options)
    }
  ]),
  {
    title: 'update, and afterWrite fails',
    request: { method: 'PATCH', target: '/n1', content: { text: 'afterWrite fails' } },
    call: (notes, options) => notes.update('n1', { text: 'afterWrite fails' }, options)
  },
  {
    title: 'update, and lose a race',
    request: { method: 'PATCH', target: '/n1', content: { text: 'raced' } },
    call: (notes, options) => notes.update('n1', { text: 'raced' }, options)
  },
  {
    title: 'call a custom action',
    request: { method: 'POST', target: '/n1/archive', content: {} },
    call: async (notes, options) => notes.archive?.('n1', {}, options)
  },
  {
    title: 'call it when it is not possible',
    request: { method: 'POST', target: '/n1/archive', content: {} },
    call: async (notes, options) => notes.archive?.('n1', {}, options)
  },
  {
    title: 'write twice in a transaction',
    call: (notes, options) => notes.transaction(async (transaction) => {
      await notes.update('n1', { rank: 3 }, { ...options, transaction })
      return notes.update('n2', { rank: 3 }, { ...options, transaction })
    })
  },
  {
    title: 'fail in a transaction',
    call: (notes, options) => notes.transaction(async (transaction) => {
      await notes.update('n1', { rank: 4 }, { ...options, transaction })
      await notes.update('n9', { rank: 4 }, { ...options, transaction }).catch(() => {})
    })
  },
  {
    title: 'call with an aborted signal',
    call: (notes, options) => notes.update('n1', { rank: 5 }, { ...options, signal: AbortSignal.abort(new Error('over')) })
  },
  {
    title: 'remove without permission',
    request: { method: 'DELETE', target: '/n1', user: 'ada' },
    call: (notes, options) => notes.remove('n1', options),
    caller: 'ada'
  },
  {
    title: 'read without authentication',
    request: { method: 'GET', target: '/n1', user: 'nobody' }
  },
  {
    title: 'remove what has changed',
    request: { method: 'DELETE', target: '/n2', headers: { 'if-match': staleTag } },
    call: (notes, options) => notes.remove('n2', { ...options, ifMatch: staleTag })
  },
  {
    title: 'remove',
    request: { method: 'DELETE', target: '/n2' },
    call: (notes, options) => notes.remove('n2', options)
  },
  {
    title: 'remove it again',
    request: { method: 'DELETE', target: '/n2' },
    call: (notes, options) => notes.remove('n2', options)
  },
  {
    title: 'read what was removed',
    request: { method: 'GET', target: '/n2' },
    call: (notes, options) => notes.read('n2', options)
  },
  {
    title: 'list what was removed',
    request: { method: 'GET', target: '?deleted=true' }
  },
  {
    title: 'restore it',
    request: { method: 'PATCH', target: '/n2', content: { deletedAt: null } },
    call: (notes, options) => notes.update('n2', { deletedAt: null }, options)
  },
  {
    title: 'create it again',
    request: { method: 'POST', content: second },
    call: (notes, options) => notes.create(second, options)
  },
  {
    title: 'use a method that is not served, or without a condition',
    request: { method: 'DELETE' }
  },
  {
    title: 'update all that match',
    request: { method: 'PATCH', target: '?id.in=n1,n2', content: { rank: 5 }, headers: { 'idempotency-key': '"m"' } },
    call: async (notes, options) => notes.updateMany?.(firstTwo, { rank: 5 }, options)
  },
  {
    title: 'repeat that',
    request: { method: 'PATCH', target: '?id.in=n1,n2', content: { rank: 5 }, headers: { 'idempotency-key': '"m"' } }
  },
  {
    title: 'update several with an invalid value',
    request: { method: 'PATCH', target: '?id.in=n1,n2', content: { rank: 'high' } },
    call: async (notes, options) => notes.updateMany?.(firstTwo, { text: 'x'.repeat(31) }, options)
  },
  {
    title: 'update several, and beforeWrite refuses',
    request: { method: 'PATCH', target: '?id.in=n1,n2', content: { text: 'beforeWrite refuses' } },
    call: async (notes, options) => notes.updateMany?.(firstTwo, { text: 'beforeWrite refuses' }, options)
  },
  {
    title: 'update too many',
    request: { method: 'PATCH', target: '?id.in=n1,n2,n3,n4,n5', content: { rank: 6 } }
  },
  {
    title: 'remove several without permission',
    request: { method: 'DELETE', target: '?id.in=n1,n2', user: 'ada' },
    call: async (notes, options) => notes.removeMany?.(firstTwo, options),
    caller: 'ada'
  },
  {
    title: 'remove all that match',
    request: { method: 'DELETE', target: '?id.in=n1,n2', headers: { prefer: 'return=representation' } },
    call: async (notes, options) => notes.removeMany?.(firstTwo, options)
  },
  {
    title: 'create several from code',
    call: async (notes, options) => notes.createMany?.([{ ...first, id: 'n6' }, { ...first, id: 'n7' }], options)
  },
  {
    title: 'list what is left',
    request: { method: 'GET', target: '?fields=id,rank,text' },
    call: (notes, options) => collect(notes.list({}, options))
  }
]

async function collect (entries: AsyncIterable<Entry<object>>): Promise<unknown[]> {
  const items: unknown[] = []
  for await (const { item } of entries) items.push(item)
  return items
}

/** Sends the request of a step, and describes the response. */
export async function sendRequest ({ app, path }: Served, request: RequestParts): Promise<string> {
  const { method, target = '', content, headers, user = 'root' } = request
  const response = await app.inject({
    // The types of inject() do not know QUERY.
    method: method as 'GET',
    url: path + target,
    headers: {
      ...user !== 'nobody' && { 'x-user': user },
      ...content !== undefined && { 'content-type': 'application/json' },
      ...headers
    },
    ...content !== undefined && { payload: JSON.stringify(content) }
  })
  return describeResponse(response).replaceAll(path, '/notes')
}

const describedHeaders = [
  'allow', 'cache-control', 'content-range', 'idempotent-replayed', 'location', 'preference-applied',
  'retry-after', 'x-total-count'
]

function describeResponse ({ statusCode, headers, payload }: LightMyRequestResponse): string {
  const parts = describedHeaders.filter((name) => headers[name] !== undefined).map((name) => `${name}=${headers[name]}`)
  if (headers.etag !== undefined) parts.push('etag')
  const content = headers['content-type'] === 'application/problem+json' ? summarizeProblem(payload) : payload
  return [statusCode, ...parts, toStableText(content)].join(' ').trimEnd()
}

/** The wire corpus has the whole content. */
function summarizeProblem (payload: string): string {
  const { code, errors, message } = JSON.parse(payload) as Record<string, unknown>
  return JSON.stringify({ code, errors, message })
}

/** Makes the call of a step, and describes what it returns or throws. */
export async function makeCall (
  { notes }: Served,
  call: NonNullable<Step['call']>,
  options: CallOptions
): Promise<string> {
  try {
    return toStableText(JSON.stringify(await call(notes, options)) ?? 'nothing')
  } catch (error) {
    if (error instanceof ProblemError) {
      const { statusCode, code, errors } = error
      return `${statusCode} ${JSON.stringify({ code, errors })}`
    }
    return `throws ${String(error)}`
  }
}

function toStableText (text: string): string {
  return text
    .replace(/"tag":"\\"[^"]*\\""/g, '"tag":"..."')
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<now>')
}

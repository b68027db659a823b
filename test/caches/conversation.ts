import { gzipSync } from 'node:zlib'
import type { Client, Received, Sent } from './client.ts'

// Every route with every status, as one sequence of requests to the app itself or through a cache.

const json = { 'content-type': 'application/json' }
const xml = { accept: 'application/xml' }
const hal = { accept: 'application/hal+json' }
const jsonPatch = { 'content-type': 'application/json-patch+json' }
const minimal = { prefer: 'return=minimal' }
const none = { accept: 'image/png' }
const long = 'Mon, 01 Jan 2024 00:00:00 GMT'

function note (text: unknown, id = 'a'): string {
  return JSON.stringify({ id, text })
}

/**
 * The request line, the status to expect, and the rest; `<tag>` is replaced by the last entity tag of
 * its URI.
 */
type Turn = readonly [line: string, status: number, sent?: Sent]

/** Reads of a collection with an item `a`. */
function listReads (at: string): Turn[] {
  return [
    ...thrice(`GET ${at}/a`),
    ...thrice(`GET ${at}/a`, xml),
    ...thrice(`GET ${at}/a`, hal),
    ...thrice(`GET ${at}/a`, { accept: 'text/html, application/xml;q=0.5' }),
    [`HEAD ${at}/a`, 200],
    [`HEAD ${at}/a`, 200, { fields: xml }],
    [`GET ${at}/a`, 200],
    [`GET ${at}/a`, 304, { fields: { 'if-none-match': '<tag>' } }],
    [`GET ${at}/a`, 304, { fields: { 'if-none-match': '*' } }],
    [`GET ${at}/a`, 304, { fields: { 'if-none-match': '"other", W/<tag>' } }],
    [`HEAD ${at}/a`, 304, { fields: { 'if-none-match': '<tag>' } }],
    [`GET ${at}/a`, 200, { fields: { 'if-none-match': '"other"' } }],
    [`GET ${at}/a`, 200, { fields: { 'if-none-match': '<tag>', ...xml } }],
    [`GET ${at}/a`, 200],
    [`GET ${at}/a`, 200, { fields: { 'if-match': '<tag>' } }],
    [`GET ${at}/a`, 412, { fields: { 'if-match': '"other"' } }],
    [`GET ${at}/a`, 412, { fields: { 'if-unmodified-since': long } }],
    [`GET ${at}/a`, 406, { fields: none }],
    [`HEAD ${at}/a`, 406, { fields: none }],
    [`GET ${at}/a`, 304, { fields: { 'if-none-match': '<tag>', authorization: 'Bearer ada' } }],
    [`GET ${at}/a`, 200, { fields: { authorization: 'Bearer ada' } }],
    [`GET ${at}/a`, 200, { fields: { cookie: 'session=ada' } }],
    ...thrice(`GET ${at}`),
    ...thrice(`GET ${at}`, xml),
    ...thrice(`GET ${at}`, hal),
    ...thrice(`GET ${at}?limit=1`),
    [`HEAD ${at}`, 200],
    [`HEAD ${at}?limit=1`, 200],
    [`GET ${at}`, 200],
    [`GET ${at}`, 304, { fields: { 'if-none-match': '<tag>' } }],
    [`HEAD ${at}`, 304, { fields: { 'if-none-match': '<tag>' } }],
    [`GET ${at}`, 412, { fields: { 'if-match': '"other"' } }],
    [`GET ${at}`, 406, { fields: none }],
    [`GET ${at}?colour=red`, 400],
    [`GET ${at}?limit=0`, 400],
    [`GET ${at}/none`, 404],
    [`GET ${at}/none`, 404],
    [`HEAD ${at}/none`, 404],
    ['GET /diaries', 401],
    [`OPTIONS ${at}`, 204],
    [`OPTIONS ${at}/a`, 204],
    [`PUT ${at}`, 405, { fields: json, content: note('x') }],
    [`PATCH ${at}`, 405, { fields: json, content: '{}' }],
    [`DELETE ${at}`, 405],
    [`POST ${at}/a`, 405, { fields: json, content: note('x') }]
  ]
}

function thrice (line: string, fields: Record<string, string> = {}): Turn[] {
  return Array<Turn>(3).fill([line, 200, { fields }])
}

const conversation: readonly Turn[] = [
  ['GET /notes', 200],
  ['POST /notes', 201, { fields: json, content: note('first') }],
  ['POST /notes', 201, { fields: { ...json, ...minimal }, content: note('second', 'b') }],
  ['POST /notes', 201, { fields: { ...json, 'content-encoding': 'gzip' }, content: gzipSync(note('third', 'c')) }],
  [
    'POST /notes',
    201,
    { fields: { 'content-type': 'application/xml', ...xml }, content: '<item><id>d</id><text>fourth</text></item>' }
  ],
  ['POST /notes', 409, { fields: json, content: note('again') }],
  ['POST /notes', 400, { fields: json, content: '{"id":' }],
  ['POST /notes', 406, { fields: { ...json, ...none }, content: note('x', 'e') }],
  ['POST /notes', 400, { fields: { ...json, 'if-match': '"other"' }, content: note('x', 'e') }],
  ['POST /notes', 415, { fields: { 'content-type': 'text/plain' }, content: 'x' }],
  ['POST /notes', 415, { fields: { ...json, 'content-encoding': 'compress' }, content: 'x' }],
  ['POST /notes', 422, { fields: json, content: note(1, 'e') }],
  ...listReads('/notes'),
  ['POST /news', 201, { fields: json, content: note('first') }],
  ['POST /news', 201, { fields: json, content: note('second', 'b') }],
  ...listReads('/news'),
  ['PUT /notes/a', 200, { fields: json, content: note('replaced') }],
  ['GET /notes/a', 200],
  ['GET /notes/a', 200, { fields: xml }],
  ['GET /notes', 200],
  ['PUT /notes/a', 204, { fields: { ...json, ...minimal, 'if-match': '<tag>' }, content: note('replaced again') }],
  ['PUT /notes/a', 412, { fields: { ...json, 'if-match': '<tag>' }, content: note('lost') }],
  ['PUT /notes/a', 412, { fields: { ...json, 'if-none-match': '*' }, content: note('lost') }],
  ['PUT /notes/a', 415, { fields: { 'content-type': 'text/plain' }, content: 'x' }],
  ['PUT /notes/a', 422, { fields: json, content: note(1) }],
  ['PUT /notes/a', 422, { fields: json, content: note('x', 'b') }],
  ['PUT /notes/none', 404, { fields: json, content: note('x', 'none') }],
  ['GET /notes/a', 200],
  ['GET /notes', 200],
  ['PATCH /notes/a', 200, { fields: { ...json, 'if-match': '<tag>' }, content: '{"text":"merged"}' }],
  ['PATCH /notes/a', 204, { fields: { ...json, ...minimal }, content: '{"text":"merged again"}' }],
  ['PATCH /notes/a', 200, { fields: jsonPatch, content: '[{"op":"replace","path":"/text","value":"patched"}]' }],
  ['GET /notes/a', 200],
  ['GET /notes', 200],
  ['GET /notes?limit=1', 200],
  ['PATCH /notes/a', 409, { fields: jsonPatch, content: '[{"op":"test","path":"/text","value":"other"}]' }],
  ['PATCH /notes/a', 412, { fields: { ...json, 'if-match': '"other"' }, content: '{"text":"lost"}' }],
  ['PATCH /notes/a', 415, { fields: { 'content-type': 'text/plain' }, content: 'x' }],
  ['PATCH /notes/a', 422, { fields: json, content: '{"text":1}' }],
  ['PATCH /notes/none', 404, { fields: json, content: '{}' }],
  ['DELETE /notes/a', 412, { fields: { 'if-match': '"other"' } }],
  ['DELETE /notes/a', 204, { fields: { 'if-match': '<tag>' } }],
  ['DELETE /notes/a', 404],
  ['GET /notes/a', 404],
  ['GET /notes/a', 404, { fields: xml }],
  ['GET /notes', 200],
  ['DELETE /notes/b', 200, { fields: { prefer: 'return=representation' } }],
  ['GET /notes/b', 404],
  ['GET /notes', 200]
]

interface Exchange {
  readonly turn: string
  readonly expected: number
  readonly answer: Received
}

/** Sends the requests, and returns the responses without what differs between apps. */
export async function converse (client: Client): Promise<Exchange[]> {
  const validators = new Map<string, string>()
  const names = new Map<string, string>()
  const said: Exchange[] = []
  for (const [line, expected, sent = {}] of conversation) {
    const uri = line.split(' ')[1]!
    const tag = validators.get(uri) ?? ''
    const fields = Object.fromEntries(
      Object.entries(sent.fields ?? {}).map(([name, value]) => [name, value.replace('<tag>', tag)])
    )
    const answer = await client.ask(line, { ...sent, fields })
    const { etag } = answer.fields
    if (etag !== undefined && !names.has(etag)) names.set(etag, `tag ${names.size + 1}`)
    if (etag !== undefined && answer.status < 300) validators.set(uri, etag)
    said.push({ turn: `${line} ${JSON.stringify(sent.fields ?? {})}`, expected, answer: normalize(answer, names) })
  }
  return said
}

/** Replaces versions and times, which differ between apps, by stable names. */
function normalize ({ status, fields, content }: Received, names: ReadonlyMap<string, string>): Received {
  const { etag, 'last-modified': modified } = fields
  return {
    status,
    fields: {
      ...fields,
      ...(etag !== undefined && { etag: names.get(etag) ?? etag }),
      ...(modified !== undefined && { 'last-modified': 'a date' }),
      ...(fields.link !== undefined && { link: fields.link.replace(/cursor=[^>&]*/g, 'cursor=') })
    },
    content: content.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a moment').replace(/cursor=[^"&]*/g, 'cursor=')
  }
}

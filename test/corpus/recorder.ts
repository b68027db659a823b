import { hash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { serverOptions, service } from '../../lib/app/service.ts'
import type { ServiceOptions } from '../../lib/app/service.ts'
import { withoutPaths } from '../app.ts'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import collection from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import { listen, Wire } from '../wire.ts'

/** What a request sends besides its method and target. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  /** An object or array is sent as JSON, a string as it is. */
  readonly content?: unknown
  /** `application/json` unless stated here. */
  readonly type?: string
}

/** What later requests of an area need to know of a response. */
export interface Received {
  readonly status: number
  readonly etag: string
  readonly location: string
  /** Target of the link with this relation. */
  link(relation: string): string
  readonly text: string
  json(): any
}

/** An area of the corpus: sends requests in sequence to its own apps. */
export type Area = (recorder: Recorder) => Promise<void>

const separator = '\n\n-----\n\n'

function getFile (area: string): URL {
  return new URL(`recorded/${area}.txt`, import.meta.url)
}

/** Returns the recorded exchanges of an area. */
export function readRecording (area: string): string[] {
  const file = getFile(area)
  return existsSync(file) ? readFileSync(file, 'utf8').slice(0, -1).split(separator) : []
}

export function writeRecording (area: string, exchanges: readonly string[]): void {
  writeFileSync(getFile(area), exchanges.join(separator) + '\n')
}

/**
 * Sends requests over a real connection and writes down each exchange, with ids, dates and versions replaced by
 * stable names.
 */
export class Recorder {
  readonly exchanges: string[] = []
  readonly #names = new Names() // eslint-disable-line no-use-before-define
  readonly #closing: Array<() => Promise<unknown>> = []
  #port = 0
  #wire: Wire | undefined

  /** Requests go to this app from now on. */
  async serve (
    definitions: Definition | readonly Definition[],
    { service: info, ...options }: FastifyServerOptions & { service?: ServiceOptions } = {}
  ): Promise<FastifyInstance> {
    const own = { forceCloseConnections: true, ...options }
    const app = Fastify(info === undefined ? own : serverOptions(own))
    if (info !== undefined) app.register(service, { ...withoutPaths, ...info })
    for (const definition of [definitions].flat()) app.register(collection, definition)
    await this.use(app)
    return app
  }

  async use (app: FastifyInstance): Promise<void> {
    this.#closing.push(() => app.close())
    this.#port = await listen(app)
    this.#reconnect()
  }

  async send (target: string, { headers = {}, content, type = 'application/json' }: Sent = {}): Promise<Received> {
    const text = content === undefined ? '' : typeof content === 'string' ? content : JSON.stringify(content)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    if (content !== undefined) lines.push(`content-type: ${type}`)
    const answer = await this.#wire!.ask([target, ...lines], text)
    const body = answer.content.toString()
    const { fields } = answer
    if (fields.connection === 'close') this.#reconnect()
    this.#names.learn(fields)
    this.exchanges.push(
      this.#names.replace(
        [
          ...[target, ...lines, ...(text === '' ? [] : ['', text])].map((line) => `> ${line}`),
          ...answer.head
            .split('\r\n')
            .map((line) =>
              line.toLowerCase() === `content-length: ${answer.content.length}` ? 'content-length: <exact>' : line
            ),
          ...(body === '' ? [] : ['', body.replace(embedded, digestEmbedded)])
        ].join('\n')
      )
    )
    return {
      status: answer.status,
      etag: fields.etag ?? '',
      location: fields.location ?? '',
      link: (relation) => new RegExp(`<([^>]*)>; rel="?${relation}`).exec(fields.link ?? '')?.[1] ?? '',
      text: body,
      json: () => JSON.parse(body)
    }
  }

  #reconnect (): void {
    this.#wire?.close()
    this.#wire = new Wire(this.#port)
  }

  async close (): Promise<void> {
    this.#wire?.close()
    for (const close of this.#closing) await close()
  }
}

const embedded = /<(style|script)>(.*?)<\/\1>/gs

/** The style and script of a page are the same on every page: their digest is enough to see that they changed. */
function digestEmbedded (_element: string, name: string, content: string): string {
  return `<${name}>${hash('sha256', content).slice(0, 16)}</${name}>`
}

const uuid = /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g
const instant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g
const readable = /\b\d\d \w{3} \d{4}, \d\d:\d\d(?::\d\d)? UTC/g
const httpDate = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g
const cursor = /\bcursor=([\w-]+)/g
const hour = 3_600_000

/** Stable names for what differs from run to run, numbered in the order in which they are first seen. */
class Names {
  readonly #known = new Map<string, string>()

  /** Everything before the name of the format in an entity tag, and the suffix of a page. */
  learn (fields: Readonly<Record<string, string>>): void {
    const [, version = '', page = ''] = /^"(.+)\.[a-z]+(?:-([\da-f]{16}))?(?:-[a-z]+)?"$/.exec(fields.etag ?? '') ?? []
    if (version !== '') this.#name('version', version)
    if (page !== '') this.#name('page', page)
    for (const [, value = ''] of (fields.link ?? '').matchAll(cursor)) this.#name('cursor', value)
  }

  replace (text: string): string {
    let replaced = text
    const longestFirst = [...this.#known].sort(([a], [b]) => b.length - a.length)
    for (const [value, name] of longestFirst) replaced = replaced.replaceAll(value, name)
    return replaced
      .replace(uuid, (id) => (id.startsWith('01900000-') || id.startsWith('00000000-') ? id : this.#name('id', id)))
      .replace(instant, (time) => (isRecent(time) ? '<now>' : time))
      .replace(readable, (time) => (isRecent(time) ? '<now>' : time))
      .replace(httpDate, (date) => (isRecent(date) ? '<date>' : date))
  }

  #name (kind: string, value: string): string {
    const known = this.#known.get(value)
    if (known !== undefined) return known
    const name = `<${kind} ${[...this.#known.values()].filter((other) => other.startsWith(`<${kind} `)).length + 1}>`
    this.#known.set(value, name)
    return name
  }
}

function isRecent (date: string): boolean {
  return Math.abs(Date.now() - Date.parse(date)) < hour
}

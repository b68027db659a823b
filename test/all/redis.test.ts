import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { createClient } from 'redis'
import { test } from 'tap'
import { watchServer } from '../watchdog.ts'
import { redis } from '../../examples/redis/storage.ts'
import collection, { define } from '../../lib/index.ts'
import { conformance } from '../../lib/storage/conformance.ts'
import { freePort } from '../ports.ts'

/** In CI a missing server is a failure: nothing is skipped there. */
const skip =
  spawnSync('redis-server', ['--version']).status !== 0 && process.env['CI'] !== 'true'
    ? 'redis-server is not installed'
    : false

interface Server {
  start(): Promise<void>
  /** Simulates a crash; confirmed writes are there after `start`. */
  crash(): Promise<void>
}

async function privateServer (folder: string, port: number): Promise<Server> {
  let child: ChildProcess | undefined
  return {
    async start () {
      child = spawn(
        'redis-server',
        [
          '--port',
          String(port),
          '--bind',
          '127.0.0.1',
          '--dir',
          folder,
          '--save',
          '',
          '--appendonly',
          'yes',
          '--appendfsync',
          'always'
        ],
        { stdio: 'ignore' }
      )
      await once(child, 'spawn')
      child.once('exit', watchServer(child.pid ?? 0, 'TERM', folder))
    },
    async crash () {
      if (child === undefined || child.exitCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
  }
}

test('the storage of examples/redis', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'collections-redis-'))
  const port = await freePort()
  const server = await privateServer(folder, port)
  await server.start()
  const client = createClient({
    socket: { host: '127.0.0.1', port, reconnectStrategy: () => 20 },
    disableOfflineQueue: true
  })
  // The commands report errors of the connection.
  client.on('error', () => {})
  await client.connect()
  t.teardown(async () => {
    client.destroy()
    await server.crash()
    await rm(folder, { recursive: true, force: true })
  })

  await t.test('it passes the conformance suite, except for what its `supports` leaves out', async (t) => {
    let opened = 0
    conformance(
      (...sentence) => t.test(...sentence),
      (shape) => redis(client, `${opened++} `)(shape),
      ['generatedIds', 'unique', 'filter', 'arrays', 'order', 'search', 'transactions', 'receipts']
    )
  })

  await t.test('integers are sorted by value, including negative ones', async (t) => {
    const signal = AbortSignal.timeout(60_000)
    const context = { signal, scope: undefined }
    const storage = redis(client)<{ n: number }>({
      name: 'numbers',
      schema: {},
      id: { property: 'n', generate: 'client' },
      unique: []
    })
    const numbers = [10, -1, 9, 0, -(2 ** 53 - 1), 2 ** 53 - 1, -10]
    for (const n of numbers) await storage.insert({ n }, context)
    const query = {
      filter: undefined,
      search: undefined,
      before: undefined,
      limit: 10,
      properties: undefined,
      count: true
    }
    const { entries, total } = await storage.list(
      { ...query, order: [{ property: 'n', descending: false }], after: [-10] },
      context
    )
    t.same(
      entries.map(({ id }) => id),
      numbers.toSorted((a, b) => a - b).slice(2)
    )
    t.equal(total, 7)
  })

  await t.test('an app returns 503 while the server is down, and works again afterward', async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const Note = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() })
    await app.register(collection, define({ name: 'notes', schema: Note, storage: redis(client) }))
    const url: string = String(
      (await app.inject({ method: 'POST', url: '/notes', payload: { text: 'first' } })).headers.location
    )
    const {
      headers: { etag }
    } = await app.inject(url)
    const patch = {
      method: 'PATCH',
      url,
      payload: { text: 'second' },
      headers: { 'content-type': 'application/merge-patch+json', 'if-match': String(etag) }
    } as const
    t.equal((await app.inject(patch)).statusCode, 200)
    t.equal((await app.inject(patch)).statusCode, 412)
    await server.crash()
    const away = await app.inject(url)
    t.match(away, { statusCode: 503, headers: { 'retry-after': '1' } })
    await server.start()
    for (let turn = 0; turn < 200 && !client.isReady; turn++) await delay(20)
    t.match((await app.inject('/notes')).json(), [{ text: 'second' }])
  })

  await t.test('an error that a retry cannot fix is not reported as unreachable', async (t) => {
    await client.set('{broken}:items', 'text')
    const storage = redis(client)({
      name: 'broken',
      schema: {},
      id: { property: 'id', generate: 'client' },
      unique: []
    })
    const error: object = await storage
      .find('a', { signal: AbortSignal.timeout(60_000), scope: undefined })
      .then(Object, Object)
    t.match(error, { message: /^WRONGTYPE/ })
    t.notOk('unreachable' in error)
  })
})

test('docs/storage.md shows the code of the example', async (t) => {
  const read = async (path: string) => await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
  const [page, example] = [await read('docs/storage.md'), await read('examples/redis/storage.ts')]
  const excerpts = [...page.matchAll(/^```(?:typescript|lua)\n(.*?)^```$/gms)].map(([, code = '']) => code.trimEnd())
  t.ok(excerpts.length > 4)
  const squeezed = (text: string) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .join('\n')
  for (const excerpt of excerpts) t.ok(squeezed(example).includes(squeezed(excerpt)), excerpt)
})

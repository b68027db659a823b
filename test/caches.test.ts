import { test } from 'tap'
import type { Test } from 'tap'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Client } from './caches/client.ts'
import type { Received, Sent } from './caches/client.ts'
import { converse } from './caches/conversation.ts'
import { isInstalled, start } from './caches/daemon.ts'
import type { Program } from './caches/daemon.ts'
import { page } from './caches/guide.ts'
import { nginx } from './caches/nginx.ts'
import { startOrigin } from './caches/origin.ts'
import type { Origin } from './caches/origin.ts'
import { squid } from './caches/squid.ts'
import { varnish } from './caches/varnish.ts'

// Real caches in front of a real app, each configured as docs/caching.md shows.

interface Row {
  readonly program: (origin: number) => Program
  /** The fresh responses that are requested again after a write to the item through the cache. */
  readonly drops: readonly string[]
  /** Whether a write through the cache drops the responses of the groups that it names. */
  readonly dropsGroups: boolean
}

const caches: readonly Row[] = [
  { program: nginx, drops: [], dropsGroups: false },
  { program: varnish, drops: ['/news/kept', '/news'], dropsGroups: true },
  { program: squid, drops: ['/news/kept'], dropsGroups: false }
]

/** Headers that a cache may add or change, and why. All others are the same as without the cache. */
const added: Readonly<Record<string, string>> = {
  date: 'nginx sends the time of its own response, which differs from that of the app',
  connection: 'is about this hop alone (RFC 9110 section 7.6.1)',
  'keep-alive': 'is about this hop alone',
  via: 'names the intermediaries (RFC 9110 section 7.6.3)',
  age: 'tells how long ago the app said so (RFC 9111 section 5.1)',
  server: 'is nginx',
  'x-varnish': 'is the number of the exchange in the log of Varnish',
  'x-cache': 'tells whether Squid had it',
  'x-cache-lookup': 'tells whether Squid looked for it',
  'accept-ranges': 'tells that Varnish gives parts of what it has stored'
}

function withoutAdded ({ status, fields, content }: Received): Received {
  return {
    status,
    fields: Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(added, name))),
    content
  }
}

interface Stage {
  readonly origin: Origin
  /** Sends requests to the app itself. */
  readonly app: Client
  /** Sends requests through the cache. */
  readonly cache: Client
}

async function stage (t: Test, program: (origin: number) => Program, options = {}): Promise<Stage> {
  const origin = await startOrigin(options)
  t.teardown(() => origin.close())
  const daemon = await start(program(origin.port))
  t.teardown(async () => {
    if (!t.passing()) t.comment(await daemon.log())
    await daemon.end()
  })
  const clients = { app: new Client(origin.port), cache: new Client(daemon.port) }
  t.teardown(() => Object.values(clients).forEach((client) => client.close()))
  return { origin, ...clients }
}

/** False if the program is installed or must be, otherwise the reason to skip. */
function missing (binary: string): string | false {
  return isInstalled(binary) || process.env.CI === 'true' ? false : `${binary} is not installed`
}

const xml = { fields: { accept: 'application/xml' } }

function sent (method: string, text: string, id: string): Sent {
  if (method === 'DELETE') return {}
  return {
    fields: { 'content-type': 'application/json' },
    content: JSON.stringify(method === 'PATCH' ? { text } : { id, text })
  }
}

async function write (client: Client, line: string, text = 'new'): Promise<Received> {
  const [method = '', path = ''] = line.split(' ')
  const answer = await client.ask(line, sent(method, text, path.split('/')[2] ?? text))
  if (answer.status >= 300) throw new Error(`${line}: ${answer.status} ${answer.content}`)
  return answer
}

test('docs/caching.md lists the headers that a cache adds', async (t) => {
  const named = /except for headers of the connection or of the cache itself: (.*)\.$/m.exec(page)?.[1]
  t.strictSame(named?.replaceAll('`', '').toLowerCase().split(', ').sort(), Object.keys(added).sort())
})

for (const { program, drops, dropsGroups } of caches) {
  const { name, binary } = program(0)
  test(`behind ${name}`, { skip: missing(binary) }, async (t) => {
    const { origin, app, cache } = await stage(t, program)

    await t.test('every route sends the same responses as without the cache', async (t) => {
      const bare = await startOrigin()
      t.teardown(() => bare.close())
      const client = new Client(bare.port)
      t.teardown(() => client.close())
      const [direct, through] = [await converse(client), await converse(cache)]
      for (const [index, { turn, expected, answer }] of direct.entries()) {
        const other = through[index]!.answer
        t.equal(answer.status, expected, turn)
        t.strictSame(withoutAdded(other), withoutAdded(answer), turn)
        if (expected === 204 || expected === 304) {
          t.notOk('content-length' in other.fields, `${turn}: no Content-Length (RFC 9110, section 8.6)`)
        }
      }
    })

    await t.test(
      'repeated GETs are revalidated and return the content and validators of the app (RFC 9111, section 4.3)',
      async (t) => {
        await write(app, 'POST /notes', 'thrice')
        for (const [line, format] of [
          ['GET /notes/thrice', {}],
          ['GET /notes', {}],
          ['GET /notes/thrice', xml],
          ['GET /notes?limit=1', {}]
        ] as const) {
          const expected = withoutAdded(await app.ask(line, format))
          origin.takeRequests()
          for (let turn = 0; turn < 3; turn++) t.strictSame(withoutAdded(await cache.ask(line, format)), expected, line)
          const received = origin.takeRequests()
          t.match(received[0], { line, status: 200 })
          t.strictSame(
            received.slice(1),
            Array(2).fill({ line, conditional: true, status: 304 }),
            `${line}: the cache revalidates its response`
          )
        }
      }
    )

    await t.test('repeated GETs are served from the cache if the definition allows it', async (t) => {
      await write(app, 'POST /news', 'served')
      for (const line of ['GET /news/served', 'GET /news?limit=50']) {
        const expected = withoutAdded(await app.ask(line))
        t.equal(expected.fields['cache-control'], 'public, max-age=60')
        origin.takeRequests()
        for (let turn = 0; turn < 3; turn++) t.strictSame(withoutAdded(await cache.ask(line)), expected, line)
        t.strictSame(origin.takeRequests(), [{ line, conditional: false, status: 200 }], `${line} is requested once`)
      }
    })

    await t.test('no response is stale after a write through the cache or directly to the app', async (t) => {
      for (const [name, writer] of [
        ['through', cache],
        ['behind', app]
      ] as const) {
        await write(writer, 'POST /notes', name)
        for (const method of ['PUT', 'PATCH', 'POST', 'DELETE']) {
          const at = `/notes/${name}`
          for (const format of [{}, xml, {}, xml]) {
            await cache.ask(`GET ${at}`, format)
            await cache.ask('GET /notes', format)
          }
          await write(writer, method === 'POST' ? 'POST /notes' : `${method} ${at}`, `${name}-${method.toLowerCase()}`)
          for (const format of [{}, xml]) {
            for (const line of [`GET ${at}`, `HEAD ${at}`, 'GET /notes']) {
              t.strictSame(
                withoutAdded(await cache.ask(line, format)),
                withoutAdded(await app.ask(line, format)),
                `${line} after a ${method} ${name} the cache`
              )
            }
          }
        }
      }
    })

    await t.test('GET after a write returns the new state while other clients read', async (t) => {
      await write(app, 'POST /notes', 'busy')
      const readers = Array.from({ length: 6 }, () => new Client(cache.port))
      const over = new AbortController()
      const reading = Promise.all(
        readers.map(async (reader) => {
          while (!over.signal.aborted) await reader.ask('GET /notes/busy')
        })
      )
      const read: unknown[] = []
      const texts = Array.from({ length: 60 }, (_, turn) => `state ${turn}`)
      for (const text of texts) {
        await write(app, 'PATCH /notes/busy', text)
        const answer = await cache.ask('GET /notes/busy')
        read.push((JSON.parse(answer.content) as { text: unknown }).text)
      }
      over.abort()
      await reading
      for (const reader of readers) reader.close()
      t.strictSame(read, texts)
    })

    await t.test('responses to requests with credentials are never served to other clients', async (t) => {
      const ada = [{ authorization: 'Bearer ada' }, { cookie: 'session=ada' }]
      const bob = [{ authorization: 'Bearer bob' }, { cookie: 'session=bob' }]
      for (const name of ['diaries', 'journals']) {
        const secret = await cache.ask(`POST /${name}`, {
          fields: { 'content-type': 'application/json', ...ada[0] },
          content: JSON.stringify({ id: 'secret', text: 'secret' })
        })
        t.equal(secret.status, 201)
        for (const path of [`/${name}/secret`, `/${name}`]) {
          for (const [caller, credentials] of [
            ['ada', ada],
            ['bob', bob],
            ['ada', ada]
          ] as const) {
            for (const fields of credentials) {
              for (const method of ['GET', 'HEAD', 'GET']) {
                const answer = await cache.ask(`${method} ${path}`, { fields })
                t.match(
                  answer,
                  {
                    status: 200,
                    fields: {
                      'x-caller': caller,
                      'cache-control': name === 'diaries' ? 'no-store' : 'private, max-age=60'
                    }
                  },
                  `${method} ${path} of ${caller}`
                )
              }
              for (const stranger of [{}, { authorization: 'Bearer eve' }, { cookie: 'session=eve' }]) {
                const refused = await cache.ask(`GET ${path}`, { fields: stranger })
                t.match(refused, { status: 401, fields: { 'cache-control': 'no-store', 'www-authenticate': 'Bearer' } })
                t.notMatch(refused.content, /"text"/)
                t.notOk('x-caller' in refused.fields)
              }
            }
          }
        }
      }
    })

    await t.test('no response with related items that must not be stored is stale', async (t) => {
      await write(app, 'POST /editors', 'ed')
      const content = JSON.stringify({ id: 'told', text: 'told', editorId: 'ed' })
      t.equal((await app.ask('POST /stories', { fields: { 'content-type': 'application/json' }, content })).status, 201)
      for (const query of ['/told?expand=editor', '?expand=editor', '?editor.text=ed', '?sort=editor.text']) {
        const line = `GET /stories${query}`
        await write(app, 'PUT /editors/ed', 'ed')
        await cache.ask(line)
        await cache.ask(line)
        await write(app, 'PATCH /editors/ed', 'changed')
        t.strictSame(withoutAdded(await cache.ask(line)), withoutAdded(await app.ask(line)), line)
      }
      const { fields } = await cache.ask('GET /stories/told')
      t.equal(fields['cache-control'], 'public, max-age=60', 'the story alone')
    })

    await t.test('a request with credentials always reaches the app', async (t) => {
      await write(app, 'POST /notes', 'open')
      await write(app, 'POST /news', 'open')
      await write(app, 'POST /news', 'opened')
      for (const [path, open, credentialed] of [
        ['/notes/open', 'no-cache', 'no-store'],
        ['/news/open', 'public, max-age=60', 'public, max-age=60']
      ] as const) {
        for (const fields of [{ authorization: 'Bearer ada' }, { cookie: 'session=ada' }]) {
          for (let turn = 0; turn < 2; turn++) {
            t.equal((await cache.ask(`GET ${path}`)).fields['cache-control'], open)
            origin.takeRequests()
            t.equal((await cache.ask(`GET ${path}`, { fields })).fields['cache-control'], credentialed)
            t.strictSame(origin.takeRequests(), [{ line: `GET ${path}`, conditional: false, status: 200 }])
          }
        }
      }
      for (const fields of [{ authorization: 'Bearer ada' }, { cookie: 'session=ada' }, {}]) {
        await cache.ask('GET /news/opened', { fields })
      }
      t.equal(origin.takeRequests().length, 3, 'responses to such requests are not stored')
    })

    await t.test('a cookie that the app sets is sent to one client only', async (t) => {
      await write(app, 'POST /visits', 'once')
      const cookies: string[] = []
      for (const line of [
        'GET /visits/once',
        'GET /visits/once',
        'HEAD /visits/once',
        'GET /visits/once',
        'GET /visits',
        'GET /visits'
      ]) {
        const { fields } = await cache.ask(line)
        t.equal(fields['cache-control'], 'no-store', line)
        if (fields['set-cookie'] !== undefined) cookies.push(fields['set-cookie'])
      }
      t.ok(cookies.length > 0)
      t.equal(new Set(cookies).size, cookies.length, cookies.join())
    })

    await t.test(
      'XML and JSON of one URI are never mixed up, even if served from the cache (RFC 9111, section 4.1)',
      async (t) => {
        await write(app, 'POST /news', 'formats')
        for (let turn = 0; turn < 2; turn++) {
          for (const path of ['/notes', '/news', '/news/formats']) {
            for (const type of ['application/json', 'application/xml', 'application/hal+json']) {
              for (const method of ['GET', 'HEAD']) {
                const { fields } = await cache.ask(`${method} ${path}`, { fields: { accept: type } })
                t.match(
                  fields,
                  { 'content-type': type, vary: /Accept/, etag: new RegExp(`\\.${type.replace(/.*\/|\+.*/g, '')}"$`) },
                  `${method} ${path}`
                )
              }
            }
            t.equal((await cache.ask(`GET ${path}`, { fields: { accept: 'image/png' } })).status, 406)
          }
        }
      }
    )

    await t.test(
      `a write through the cache invalidates ${drops.join(' and ') || 'nothing'} among fresh responses`,
      async (t) => {
        await write(app, 'POST /news', 'kept')
        for (const line of ['PUT /news/kept', 'PATCH /news/kept']) {
          for (const path of ['/news/kept', '/news']) {
            await cache.ask(`GET ${path}`)
            await cache.ask(`GET ${path}`)
          }
          origin.takeRequests()
          t.equal((await write(cache, line, line.toLowerCase())).fields['cache-group-invalidation'], '"news"')
          for (const path of ['/news/kept', '/news']) {
            const [{ fields, content }, current] = [await cache.ask(`GET ${path}`), await app.ask(`GET ${path}`)]
            t.equal(fields['cache-groups'], '"news"')
            t.equal(content === current.content, drops.includes(path), `${path} after ${line}`)
          }
        }
      }
    )

    const groups = dropsGroups ? 'all groups that it names' : 'no groups'
    await t.test(`a write through the cache invalidates ${groups} (RFC 9875)`, async (t) => {
      await write(app, 'POST /writers', 'ada')
      await write(app, 'POST /editors', 'eve')
      await write(app, 'POST /news', 'grouped')
      const fields = { 'content-type': 'application/json' }
      const story = JSON.stringify({ id: 'grouped', text: 'told', editorId: 'eve', writerId: 'ada' })
      t.equal((await app.ask('POST /stories', { fields, content: story })).status, 201)
      const related = ['/stories/grouped?expand=writer', '/stories?writer.text=ada&expand=writer', '/stories?sort=writer.text']
      const content = (text: string) => JSON.stringify([
        { method: 'PATCH', path: '/news/grouped', content: { text } },
        { method: 'PATCH', path: '/writers/ada', content: { text } }
      ])
      const paths = [...related, '/stories/grouped', '/news/grouped', '/news']
      for (const [line, changes, dropped] of [
        ['PATCH /writers/ada', JSON.stringify({ text: 'single' }), related],
        ['POST /batch', content('both'), [...related, '/news/grouped', '/news']]
      ] as const) {
        for (const path of paths) await cache.ask(`GET ${path}`)
        origin.takeRequests()
        t.equal((await cache.ask(line, { fields, content: changes })).status, 200)
        origin.takeRequests()
        for (const path of paths) {
          const { status } = await cache.ask(`GET ${path}`)
          t.equal(status, 200)
          const isDropped = origin.takeRequests().length > 0
          t.equal(isDropped, dropsGroups && (dropped as readonly string[]).includes(path), `${path} after ${line}`)
        }
      }
    })
  })
}

test(
  'nginx with gzip weakens ETags, and If-Match of a write matches them (RFC 9110, sections 8.8.1 and 13.1.1)',
  { skip: missing('nginx') },
  async (t) => {
    const { app, cache } = await stage(t, (origin) => nginx(origin, { compressing: true }))
    const coded = { 'accept-encoding': 'gzip' }
    for (const [name, status] of [['notes', 200]] as const) {
      const at = `/${name}/weak`
      const content = JSON.stringify({ id: 'weak', text: 'x'.repeat(1_000) })
      const {
        fields: { etag: tag = '' }
      } = await app.ask(`POST /${name}`, { fields: { 'content-type': 'application/json' }, content })
      const plain = await cache.ask(`GET ${at}`)
      t.match(
        plain.fields,
        { etag: tag, 'content-encoding': undefined },
        'without gzip, the response of the app is unchanged'
      )
      for (let turn = 0; turn < 3; turn++) {
        const zipped = await cache.ask(`GET ${at}`, { fields: coded })
        t.match(zipped.fields, { etag: `W/${tag}`, 'content-encoding': 'gzip', vary: /Accept-Encoding/ })
        t.match(zipped.fields.vary, /Accept(,|$)/)
        t.equal(gunzipSync(Buffer.from(zipped.content, 'latin1')).toString(), plain.content)
      }
      const known = await cache.ask(`GET ${at}`, { fields: { ...coded, 'if-none-match': `W/${tag}` } })
      t.equal(known.status, 304, 'If-None-Match compares weakly, so a weak tag still saves the content')
      for (const client of [cache, app]) {
        const fields = {
          'content-type': 'application/json',
          'if-match': `W/${(await client.ask(`GET ${at}`)).fields.etag}`
        }
        t.equal(
          (await client.ask(`PATCH ${at}`, { fields, content: '{"text":"changed"}' })).status,
          status,
          `PATCH ${at} with a weak tag`
        )
        t.equal(
          (await client.ask(`PUT ${at}`, { fields: { ...fields, 'if-match': 'W/"other.json"' }, content })).status,
          412,
          `PUT ${at} with a weak tag that is not ours`
        )
      }
      t.equal(
        (
          await cache.ask(`DELETE ${at}`, {
            fields: { 'if-match': String((await cache.ask(`GET ${at}`)).fields.etag) }
          })
        ).status,
        204,
        'a strong tag is accepted in either case'
      )
    }
  }
)

const decode: Readonly<Record<string, (content: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  identity: (content) => content
}

for (const program of [nginx, squid]) {
  const { name, binary } = program(0)
  test(
    `${name} in front of an app that compresses sends each client a coding that it accepts, in all orders of requests`,
    { skip: missing(binary) },
    async (t) => {
      const { app, cache } = await stage(t, (origin) => program(origin), { compressing: true })
      for (const [path, codings] of [
        ['/notes/a', ['identity', 'gzip', 'br']],
        ['/notes/b', ['gzip', 'identity', 'br']],
        ['/news/c', ['identity', 'br', 'gzip']],
        ['/news/d', ['br', 'gzip', 'identity']]
      ] as const) {
        const [, list, id] = path.split('/')
        const content = JSON.stringify({ id, text: 'long '.repeat(200) })
        await app.ask(`POST /${list}`, { fields: { 'content-type': 'application/json' }, content })
        const plain = (await app.ask(`GET ${path}`)).content
        for (const coding of [...codings, ...codings]) {
          const what = `${path}, ${coding}`
          const fields = { 'accept-encoding': coding }
          const answer = await cache.ask(`GET ${path}`, { fields })
          t.equal(answer.fields['content-encoding'] ?? 'identity', coding, what)
          t.equal(decode[coding]!(Buffer.from(answer.content, 'latin1')).toString(), plain, what)
          t.match(answer.fields.vary, /\bAccept-Encoding\b/i, what)
          const etag = String(answer.fields.etag)
          const known = await cache.ask(`GET ${path}`, { fields: { ...fields, 'if-none-match': etag } })
          t.strictSame([known.status, known.fields.etag], [304, etag], what)
          const other = coding === 'br' ? 'gzip' : 'br'
          const changed = await cache.ask(`GET ${path}`, {
            fields: { 'accept-encoding': other, 'if-none-match': etag.replace(/(?:-gzip|-br)?"$/, `-${coding}"`) }
          })
          t.strictSame([changed.status, changed.fields['content-encoding']], [200, other], what)
        }
      }
    }
  )
}

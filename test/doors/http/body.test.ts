import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import collection from '../../../lib/index.ts'
import { build, created, logged, notes, payload, request } from '../../app.ts'

/** Content of this size. */
function buildContent (bytes: number): string {
  const rest = '{"text":""}'.length
  return JSON.stringify({ text: 'x'.repeat(bytes - rest) })
}

test('each route has its own bodyLimit, or that of the app by default', async (t) => {
  const app = await build(t, notes({ routes: { create: { bodyLimit: 50 }, replace: { bodyLimit: 500 } } }), {
    bodyLimit: 100
  })
  const { at } = await created(app, '/notes', { text: 'a' })
  for (const [target, limit, type] of [
    ['POST /notes', 50],
    [`PUT ${at}`, 500],
    [`PATCH ${at}`, 100, 'application/merge-patch+json']
  ] as const) {
    for (const content of [buildContent(limit), gzipSync(buildContent(limit))]) {
      const fields: Record<string, string> = typeof content === 'string' ? {} : { 'content-encoding': 'gzip' }
      t.ok(
        (await request(app, target, { content, fields, ...(type && { type }) })).statusCode < 300,
        `${target}, ${limit} bytes`
      )
    }
    for (const content of [buildContent(limit + 1), gzipSync(buildContent(limit + 1))]) {
      const fields: Record<string, string> = typeof content === 'string' ? {} : { 'content-encoding': 'gzip' }
      const refused = await request(app, target, { content, fields, ...(type && { type }) })
      t.match(refused.json(), {
        status: 413,
        code: 'content-too-large',
        detail: `The content can have up to ${limit} bytes after decoding.`
      })
      t.equal(refused.headers.connection, 'close', 'the rest of the content is not read')
    }
  }
})

test('a bodyLimit that the app sets in an onRoute hook applies', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  app.addHook('onRoute', (route) => {
    route.bodyLimit = 20
  })
  await app.register(collection, notes())
  t.equal((await request(app, 'POST /notes', { content: buildContent(20) })).statusCode, 201)
  t.equal((await request(app, 'POST /notes', { content: buildContent(21) })).statusCode, 413)
})

/** An app with a plugin that replaces the content by another stream. */
async function buildWithStream (
  t: Parameters<typeof build>[0],
  swap: (payload: Readable) => Readable
): Promise<[FastifyInstance, ReturnType<typeof logged>['lines']]> {
  const { lines, logger } = logged()
  const app = Fastify({ logger, bodyLimit: 100 })
  t.after(() => app.close())
  app.addHook('preParsing', async (_request, _reply, payload) => swap(payload as Readable))
  await app.register(collection, notes())
  return [app, lines]
}

/** A stream with the number of received bytes, as Fastify requires of replaced streams. */
function withLength (stream: Readable, receivedEncodedLength: number): Readable {
  return Object.assign(stream, { receivedEncodedLength })
}

test('a payload stream that a plugin has replaced is parsed, as bytes or as text', async (t) => {
  for (const chunks of [['{"text":', '"Käse"}'], [Buffer.from('{"text":"Kä'), 'se"}'], ['{"text":"Käse"}']]) {
    const [app] = await buildWithStream(t, () => withLength(Readable.from(chunks), 'whatever'.length))
    const answer = await request(app, 'POST /notes', { content: 'whatever', fields: { 'content-encoding': 'gzip' } })
    t.strictSame([answer.statusCode, answer.json().text], [201, 'Käse'])
  }
  const [app] = await buildWithStream(t, () => Readable.from(['{"text":"', 'x'.repeat(50), 'x'.repeat(50), '"}']))
  t.equal((await request(app, 'POST /notes', { content: {} })).statusCode, 413, 'the decoded bytes are counted')
})

test('a payload stream of a plugin that fails returns the status of its error, or 400', async (t) => {
  for (const [error, status] of [
    [new Error('The seal is broken.'), 400],
    [Object.assign(new Error('Not for you.'), { statusCode: 403 }), 403]
  ] as const) {
    const [app, lines] = await buildWithStream(t, (payload) =>
      payload.pipe(
        new PassThrough({
          transform: (_chunk, _coding, done) => {
            done(error)
          }
        })
      )
    )
    const answer = await request(app, 'POST /notes', { content: { text: 'a' } })
    t.match(answer.json(), { status, detail: error.message })
    t.strictSame(lines, [], 'a client error is not logged')
  }
})

test('content in many chunks is joined in order, and empty content returns 400', async (t) => {
  const [app] = await buildWithStream(t, (payload) =>
    payload.pipe(
      new PassThrough({
        transform: (chunk: Buffer, _coding, done) => {
          done(null, chunk)
        }
      })
    )
  )
  t.equal((await app.inject({ method: 'POST', url: '/notes', ...payload('') })).statusCode, 400)
  const [inPieces] = await buildWithStream(t, () =>
    withLength(Readable.from([...'{"text":"one after the other"}'].map((letter) => Buffer.from(letter))), '{}'.length)
  )
  t.equal((await request(inPieces, 'POST /notes', { content: {} })).json().text, 'one after the other')
})

test('content that differs from Content-Length, or has bytes after its coding, is rejected', async (t) => {
  const expectedProblem = {
    status: 400,
    code: 'malformed-content',
    detail: 'The length of the content differs from Content-Length.'
  }
  const app = await build(t, notes())
  t.match(
    (await request(app, 'POST /notes', { content: { text: 'a' }, fields: { 'content-length': '5' } })).json(),
    expectedProblem
  )
  const [swapped] = await buildWithStream(t, () => Readable.from(['{"text":"longer than what was sent"}']))
  t.match(
    (await request(swapped, 'POST /notes', { content: {} })).json(),
    expectedProblem,
    'the decoded bytes count if the stream does not report the received bytes'
  )
  for (const [rest, expected] of [
    [Buffer.alloc(50), expectedProblem],
    [Buffer.from('rubbish'), { status: 415, code: 'unsupported-content-coding' }]
  ] as const) {
    const answer = await request(app, 'POST /notes', {
      content: Buffer.concat([gzipSync('{"text":"a"}'), rest]),
      fields: { 'content-encoding': 'gzip' }
    })
    t.match(answer.json(), expected)
  }
})

test('the limit applies to received bytes as well as to decoded bytes', async (t) => {
  const [app] = await buildWithStream(t, () => withLength(Readable.from(['{"text":"a"}']), 101))
  t.equal((await request(app, 'POST /notes', { content: {} })).statusCode, 413)
})

test('decoding stops at the limit', async (t) => {
  const decoders: Array<NodeJS.WritableStream & { receivedEncodedLength?: number; closed?: boolean }> = []
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  const app = Fastify({ bodyLimit: 100_000 })
  t.after(() => app.close())
  app.addHook('preParsing', async (_request, _reply, payload) => {
    const pipe = payload.pipe.bind(payload)
    payload.pipe = (to, options) => {
      decoders.push(to)
      return pipe(to, options)
    }
    return payload
  })
  await app.register(collection, notes())
  t.ok(bomb.length < 100_000)
  t.equal((await request(app, 'POST /notes', { content: bomb, fields: { 'content-encoding': 'gzip' } })).statusCode, 413)
  t.equal(decoders.length, 1)
  for (const decoding of decoders) {
    if (decoding.closed !== true) await once(decoding, 'close')
    t.ok(Number(decoding.receivedEncodedLength) < bomb.length)
  }
})

import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { codings, decoder, UndecodableContent } from '../../lib/http/content-encoding.ts'
import type { Decoder } from '../../lib/http/content-encoding.ts'

const limit = 100_000

interface Host {
  readonly app: FastifyInstance
  readonly decoders: Decoder[]
  readonly errors: Error[]
}

/** An app that gives back how much content it read. */
function host (): Host {
  const app = fastify({ bodyLimit: limit })
  const decoders: Decoder[] = []
  const errors: Error[] = []
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, content, done) => done(null, content))
  app.addHook('preParsing', async (request, _reply, payload) => {
    const decoding = decoder(request.headers['content-encoding'] ?? '')
    if (decoding === undefined) return payload
    decoders.push(decoding)
    return payload.pipe(decoding)
  })
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    errors.push(error)
    return reply.code(error.statusCode ?? 500).send(error.name)
  })
  app.post('/', async request => (request.body as Buffer).toString())
  return { app, decoders, errors }
}

async function send ({ app }: Host, coding: string, content: Buffer): Promise<[status: number, body: string]> {
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'text/plain', 'content-encoding': coding }, payload: content })
  return [statusCode, body]
}

test('RFC 9110 §8.4.1: each coding is decoded, under any letter case, and the encoded bytes are counted', async t => {
  const own = host()
  for (const [coding, content] of [
    ['gzip', gzipSync('Käse')], ['x-gzip', gzipSync('Käse')], ['GZip ', gzipSync('Käse')], ['deflate', deflateSync('Käse')], ['br', brotliCompressSync('Käse')]
  ] as const) {
    t.strictSame(await send(own, coding, content), [200, 'Käse'], coding)
    t.equal(own.decoders.at(-1)?.receivedEncodedLength, content.length, coding)
  }
  t.strictSame(await send(own, 'gzip', gzipSync('a'.repeat(limit))), [200, 'a'.repeat(limit)])
  const two = Buffer.concat([gzipSync('one, '), gzipSync('two')])
  t.strictSame(await send(own, 'gzip', two), [200, 'one, two'], 'RFC 1952 §2.2: members follow each other')
})

test('RFC 9110 §12.5.3: what Accept-Encoding can name is decoded; an unknown coding and several at once are not', async t => {
  t.strictSame(codings, ['gzip', 'deflate', 'br'])
  for (const coding of codings) t.ok(decoder(coding), coding)
  for (const coding of ['', 'identity', 'compress', 'zstd', 'gzip, br', 'gzip;q=1', 'toString']) t.equal(decoder(coding), undefined, coding)
})

test('RFC 9110 §15.5.16: content that is not in its coding, or ends too early, is an UndecodableContent', async t => {
  for (const [coding, content] of [
    ['gzip', Buffer.from('{"plain":"json"}')], ['deflate', Buffer.from('plain text')], ['deflate', deflateRawSync('Käse')], ['br', Buffer.from('plain text')],
    ['gzip', gzipSync('a longer text that is cut').subarray(0, -9)], ['deflate', deflateSync('a longer text that is cut').subarray(0, -6)], ['br', brotliCompressSync('a longer text that is cut').subarray(0, -3)],
    ['gzip', Buffer.concat([gzipSync('a').subarray(0, -8), Buffer.alloc(8, 1)])]
  ] as const) {
    const own = host()
    t.strictSame(await send(own, coding, content), [415, 'UndecodableContent'], `${coding} ${content.toString('base64')}`)
    t.match(own.errors, [{ message: `The content cannot be decoded as ${coding}.`, cause: Error }])
    t.type(own.errors[0], UndecodableContent)
  }
})

test('a bomb is refused with 413 before it is inflated', async t => {
  const own = host()
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  t.ok(bomb.length < limit)
  const [status] = await send(own, 'gzip', bomb)
  t.equal(status, 413)
  for (const decoding of own.decoders) {
    if (!decoding.closed) await once(decoding, 'close')
    t.ok(decoding.receivedEncodedLength < bomb.length, 'the rest of it was never read')
  }
  t.equal(own.decoders.length, 1)
})

test('a bomb over the wire is refused with 413, and the next request is served', async t => {
  const own = host()
  t.teardown(() => own.app.close())
  const url = await own.app.listen({ port: 0, host: '127.0.0.1' })
  const post = async (content: Buffer): Promise<Response> =>
    await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, body: new Uint8Array(content) })
  t.equal((await post(gzipSync(Buffer.alloc(50_000_000)))).status, 413)
  t.equal(await (await post(gzipSync('Käse'))).text(), 'Käse')
  t.equal((await post(Buffer.from('garbage'))).status, 415)
})

test('a decoder that nobody listens to any more stops without an error; one that is not read yet waits', async t => {
  const decoding = decoder('gzip')
  if (decoding === undefined) throw new Error('gzip is known')
  const heard: string[] = []
  decoding.on('error', () => heard.push('error')).on('end', () => heard.push('end')).on('close', () => heard.push('close'))
  const source = new PassThrough()
  source.pipe(decoding)
  source.end(gzipSync(Buffer.alloc(10_000_000)))
  await once(decoding, 'readable')
  t.strictSame(heard, [])
  decoding.once('data', () => heard.push('data')).resume()
  await once(decoding, 'close')
  t.strictSame(heard, ['data', 'close'])
})

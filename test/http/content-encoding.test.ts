import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { test } from 'tap'
import { codings, createDecoder, UndecodableContent } from '../../lib/http/content-encoding.ts'

async function decode (coding: string, content: Buffer): Promise<[text: string, bytes: number]> {
  const decoding = createDecoder(coding)
  if (decoding === undefined) throw new Error(`${coding} is not known`)
  return [await text(Readable.from([content]).pipe(decoding)), decoding.receivedEncodedLength]
}

test('each coding is decoded, and the encoded bytes are counted (RFC 9110, section 8.4.1)', async (t) => {
  for (const [coding, content] of [
    ['gzip', gzipSync('Käse')],
    ['x-gzip', gzipSync('Käse')],
    ['GZip ', gzipSync('Käse')],
    ['deflate', deflateSync('Käse')],
    ['br', brotliCompressSync('Käse')]
  ] as const) {
    t.strictSame(await decode(coding, content), ['Käse', content.length], coding)
  }
  const two = Buffer.concat([gzipSync('one, '), gzipSync('two')])
  t.strictSame(await decode('gzip', two), ['one, two', two.length], 'several members (RFC 1952, section 2.2)')
})

test('supported codings are decoded, and unknown or several codings are not (RFC 9110, section 12.5.3)', async (t) => {
  t.strictSame(codings, ['gzip', 'deflate', 'br'])
  for (const coding of codings) t.ok(createDecoder(coding), coding)
  for (const coding of ['', 'identity', 'compress', 'zstd', 'gzip, br', 'gzip;q=1', 'toString']) {
    t.equal(createDecoder(coding), undefined, coding)
  }
})

test('content that is not in its coding throws UndecodableContent (RFC 9110, section 15.5.16)', async (t) => {
  for (const [coding, content] of [
    ['gzip', Buffer.from('{"plain":"json"}')],
    ['deflate', Buffer.from('plain text')],
    ['deflate', deflateRawSync('Käse')],
    ['br', Buffer.from('plain text')],
    ['gzip', gzipSync('a longer text that is cut').subarray(0, -9)],
    ['deflate', deflateSync('a longer text that is cut').subarray(0, -6)],
    ['br', brotliCompressSync('a longer text that is cut').subarray(0, -3)],
    ['gzip', Buffer.concat([gzipSync('a').subarray(0, -8), Buffer.alloc(8, 1)])]
  ] as const) {
    const failed: unknown = await decode(coding, content).catch((error: unknown) => error)
    t.type(failed, UndecodableContent)
    t.match(
      failed,
      { message: `The content cannot be decoded as ${coding}.`, statusCode: 415, cause: Error },
      `${coding} ${content.toString('base64')}`
    )
  }
})

import { Type } from '@sinclair/typebox'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build } from '../app.ts'
import { isProportional } from '../growth.ts'

// The format "url" has an expression of its own, which accepts what that of ajv-formats accepts.

const Page = Type.Object({ id: Type.String({ format: 'uuid' }), links: Type.Array(Type.String({ format: 'url' })) })

const pages = () => define({ name: 'pages', schema: Page, storage: memory() })

/** Returns the links that are accepted. A response has at most 100 errors. */
async function accept (app: FastifyInstance, links: readonly string[]): Promise<string[]> {
  const { statusCode, payload } = await app.inject({ method: 'POST', url: '/pages', payload: { links } })
  if (statusCode === 201) return [...links]
  const { errors } = JSON.parse(payload) as { errors: Array<{ pointer: string }> }
  const refused = new Set(errors.map(({ pointer }) => Number(pointer.split('/')[2])))
  return links.filter((_link, index) => !refused.has(index))
}

const accepted = [
  'http://example.com',
  'https://example.com/',
  'HTTPS://EXAMPLE.COM',
  'ftp://example.com/file',
  'http://www.example.com/a/b.html?c=d&e=f#g',
  'http://example.com/(brackets)_[1]',
  'http://example.com:80',
  'http://example.com:65535/a',
  'http://a.b-c-d.de',
  'http://1337.net',
  'http://ada@example.com',
  'http://ada:secret@example.com:8080/a',
  'http://ada:@example.com',
  'http://:secret@example.com',
  'http://a@b@example.com',
  'http://a/b@example.com',
  'http://example.com/@ada',
  'http://example.com/a@b.example/c',
  'http://☺.damowmow.com/',
  'http://例子.测试',
  'http://مثال.إختبار',
  'http://-.~_!$&\'()*+,;=:%40:80%2f::::::@example.com',
  'http://1.2.3.4',
  'http://223.255.255.254/',
  'http://142.42.1.1:8080/',
  'http://172.15.0.1',
  'http://172.32.0.1',
  'http://192.167.0.1',
  'http://10.0.0.1@example.com'
]

const refused = [
  '',
  'example.com',
  '//example.com',
  'mailto:ada@example.com',
  'javascript:alert(1)',
  'h://example.com',
  ':// example.com',
  'http:example.com',
  'http:/example.com',
  'http://',
  'http://.',
  'http://..',
  'http:///a',
  'http://?',
  'http://##/',
  'http://localhost',
  'http://example',
  'http://example.c',
  'http://example.c1',
  'http://example.com.',
  'http://.example.com',
  'http://a..com',
  'http://-a.com',
  'http://a-.com',
  'http://a--b.com',
  'http://xn--80ak6aa92e.com',
  'http://a_b.com',
  'http://example.com:1',
  'http://example.com:123456',
  'http://example.com:',
  'http://example.com:ab',
  'http://example.com?a=b',
  'http://example.com#a',
  'http://@example.com',
  'http://ada@',
  'http://ada@localhost',
  'http://example.com/a b',
  'http://example.com/a\n',
  ' http://example.com',
  'http://exa mple.com',
  'http://ada @example.com',
  'http://0.0.0.0',
  'http://1.1.1',
  'http://1.1.1.1.1',
  'http://1.1.1.0',
  'http://1.1.1.255',
  'http://1.256.1.1',
  'http://224.1.1.1',
  'http://3628126748',
  'http://10.1.1.1',
  'http://127.0.0.1',
  'http://169.254.1.1',
  'http://172.16.0.1',
  'http://172.31.0.1',
  'http://192.168.1.1/',
  'http://ada@192.168.1.1',
  'http://[::1]/'
]

test('the format "url" accepts public URLs of http, https and ftp', async (t) => {
  const app = await build(t, pages())
  t.strictSame(await accept(app, accepted), accepted)
  t.strictSame(await accept(app, refused), [])
})

const { url } = fullFormats as { url: RegExp }

test('the format "url" accepts and refuses the same values as that of ajv-formats', async (t) => {
  const app = await build(t, pages())
  const both = [...accepted, ...refused]
  t.strictSame(both.filter((link) => url.test(link)), accepted)
  const parts = [
    'http', 'https', 'ftp', '://', ':', '/', '@', '.', '-', '?', '#', ' ', '\n', 'a', 'Z', '_', 'com', 'example.com', '1',
    '0', '10', '127', '172', '16', '192', '168', '169', '254', '255', '1.2.3.4', '10.0.0.1', ':80', ':8080', 'é', '☺', '😀'
  ]
  const part = fc.oneof(fc.constantFrom(...parts), fc.nat(300).map(String))
  const rest = fc.array(part, { maxLength: 12 }).map((chosen) => chosen.join(''))
  const link = fc.oneof({ weight: 9, arbitrary: rest.map((text) => `http://${text}`) }, { weight: 1, arbitrary: rest })
  await fc.assert(
    fc.asyncProperty(fc.array(link, { minLength: 100, maxLength: 100 }), async (links) => {
      t.strictSame(await accept(app, links), links.filter((text) => url.test(text)))
    }),
    { numRuns: 50 }
  )
})

test('the format "url" takes time in proportion to the value', async (t) => {
  const app = await build(t, pages())
  const values: Record<string, (length: number) => string> = {
    colons: (length) => `http://${':'.repeat(length)}!`,
    'users and paths': (length) => `http://${'a@b.cc/'.repeat(length / 7)} `,
    'users and hosts': (length) => `http://${'a-b.c1@'.repeat(length / 7)}`,
    labels: (length) => `http://${'a.'.repeat(length / 2)}!`,
    words: (length) => `http://${'a-'.repeat(length / 2)}!`
  }
  for (const [name, create] of Object.entries(values)) {
    t.strictSame(await accept(app, [create(700_000)]), [], name)
    t.ok(await isProportional((length) => accept(app, [create(length)]), 70_000), name)
  }
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { negotiate } from '../../lib/http/accept.ts'
import { parseMediaType } from '../../lib/http/content-type.ts'
import { splitList, parseWord } from '../../lib/http/grammar.ts'
import { formatLink } from '../../lib/http/link.ts'
import { formatPreferenceApplied, parsePreferences } from '../../lib/http/prefer.ts'
import { mergePolicies, toCachePolicy } from '../../lib/http/cache-control.ts'
import { mergeVary } from '../../lib/http/vary.ts'

test('a list is split outside of quoted strings (RFC 9110, section 5.6.1)', async (t) => {
  t.strictSame(splitList('a, b ,,\tc,', ','), ['a', 'b', 'c'])
  t.strictSame(splitList('a;x="1,2;\\"3", b', ','), ['a;x="1,2;\\"3"', 'b'])
  t.strictSame(splitList('a;x="1,2;\\"3";y', ';'), ['a', 'x="1,2;\\"3"', 'y'])
  t.strictSame(splitList('a, "b, c', ','), ['a', '"b, c'], 'an unclosed quotation mark')
  t.strictSame(splitList('a, "b\\', ','), ['a'], 'an incomplete escape')
  t.strictSame(splitList('a\\,b', ','), ['a\\', 'b'])
  t.strictSame(splitList('', ','), [])
})

test('a word is a token or a quoted string (RFC 9110, section 5.6.4)', async (t) => {
  t.equal(parseWord('a-z.0'), 'a-z.0')
  t.equal(parseWord('"a \\"b\\" \\\\"'), 'a "b" \\')
  t.equal(parseWord('""'), '')
  for (const text of ['', 'a b', '"a', 'a"', '"a"b"', '"a\\"']) t.equal(parseWord(text), undefined, text)
})

test('the media type of the content is parsed without parameters (RFC 9110, section 8.3)', async (t) => {
  for (const [field, type] of [
    [undefined, undefined],
    ['application/json', 'application/json'],
    ['Application/JSON', 'application/json'],
    ['application/json; charset=utf-8', 'application/json'],
    ['application/merge-patch+json;q="a;b"', 'application/merge-patch+json'],
    ['text/plain ;', 'text/plain'],
    ['', undefined],
    ['json', undefined],
    ['application/', undefined],
    ['/json', undefined],
    ['application/json, text/plain', undefined],
    ['application/json text', undefined],
    ['a/b/c', undefined],
    ['a b/c', undefined]
  ] as const) {
    t.equal(parseMediaType(field), type, field ?? 'missing')
  }
})

const json = 'application/json'
const hal = 'application/hal+json'
const xml = 'application/xml'
const available = [json, hal, xml]

test('a missing, empty or malformed Accept field accepts anything (RFC 9110, section 12.5.1)', async (t) => {
  for (const field of [
    undefined,
    '*/*',
    '',
    ' ',
    ',,',
    'json',
    '*',
    '*/json',
    'a/b/c',
    'application/xml;q=2',
    'application/xml;q=0.1234',
    'application/xml;q',
    'application/xml;=a',
    'application/xml;a=b c'
  ]) {
    t.equal(negotiate(field, available), json, field ?? 'missing')
  }
})

test('the best available type is chosen by weight, then by server order (RFC 9110, section 12.5.1)', async (t) => {
  for (const [field, best] of [
    [json, json],
    [hal, hal],
    [xml, xml],
    ['APPLICATION/XML', xml],
    ['application/json, text/plain, */*', json],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', xml],
    ['application/xml, application/hal+json', hal],
    ['application/*;q=0.5, application/xml', xml],
    ['application/*', json],
    ['*/*;q=0.1', json],
    ['application/json;q=0, */*', hal],
    ['*/*, application/json;q=0.0, application/hal+json;q=0.000', xml],
    ['application/xml;q=0.5, application/json;q=0.4', xml],
    ['application/json;q=0.001', json],
    ['application/xml ; q=0.3 , application/hal+json ; Q=0.2', xml],
    ['application/*;q=0.2, */*;q=0.9', json],
    ['application/json;q=x, application/xml;q=0.1', xml],
    ['application/json; charset=UTF-8', json],
    ['application/xml;charset="utf-8"', xml],
    ['application/xml;q=1.000;ext=1, application/hal+json', hal],
    ['application/xml;x="a,b;q=0", */*;q=0.5', json],
    ['text/html', undefined],
    ['text/*', undefined],
    ['applicatio/*', undefined],
    ['application/json;q=0', undefined],
    ['*/*;q=0', undefined],
    ['application/*;q=0, */*', undefined],
    ['application/json;version=2', undefined],
    ['application/json, application/json;q=0', json]
  ] as const) {
    t.equal(negotiate(field, available), best, field)
  }
})

test('the example of precedence is followed (RFC 9110, section 12.5.1)', async (t) => {
  const field = 'text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, text/plain;format=fixed;q=0.4, */*;q=0.5'
  for (const [one, other, best] of [
    ['text/plain', 'text/plain;format=flowed', 'text/plain;format=flowed'],
    ['text/plain;format=fixed', 'text/plain', 'text/plain'],
    ['text/html', 'image/jpeg', 'image/jpeg'],
    ['image/jpeg', 'text/plain;format=fixed', 'image/jpeg'],
    ['text/html', 'text/plain;format=fixed', 'text/plain;format=fixed'],
    ['text/plain; Format="flowed"', 'text/plain', 'text/plain; Format="flowed"']
  ] as const) {
    t.equal(negotiate(field, [one, other]), best, `${one} or ${other}`)
  }
  t.equal(
    negotiate('text/html;level=1, text/html;q=0.1', ['text/html', 'text/html;level=1;x=y']),
    'text/html;level=1;x=y'
  )
  t.equal(negotiate('anything/else', ['not a type']), undefined)
})

test('any Accept field selects an available type or none, without an error (RFC 9110, section 12.5.1)', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc
          .array(fc.constantFrom('*', '/', ';', ',', 'q=', '0', '.5', '"', '\\', json, xml, ' '))
          .map((parts) => parts.join(''))
      ),
      (field) => {
        const best = negotiate(field, available)
        assert.ok(best === undefined || available.includes(best))
      }
    ),
    { numRuns: 1000 }
  )
})

test('preferences are parsed, and unknown or malformed ones are left out (RFC 7240, section 2)', async (t) => {
  for (const [field, expected] of [
    [undefined, {}],
    ['', {}],
    ['return=minimal', { return: 'minimal' }],
    ['return=representation', { return: 'representation' }],
    ['handling=strict', {}],
    ['handling=lenient', {}],
    ['count=exact', {}],
    ['RETURN=minimal', { return: 'minimal' }],
    ['return="minimal"', { return: 'minimal' }],
    ['return = minimal', { return: 'minimal' }],
    ['return=minimal; foo="some, parameter"', { return: 'minimal' }],
    ['respond-async, return=representation ;x, count=exact', { return: 'representation' }],
    ['foo; bar, wait=10, return=minimal', { return: 'minimal' }],
    ['return=minimal, return=representation', { return: 'minimal' }],
    ['return=all, Return=minimal', {}],
    ['return, return=minimal', {}],
    ['return=""', {}],
    ['return=minimal x', {}],
    ['=minimal', {}],
    ['return==minimal', {}],
    ['count=planned', {}],
    ['__proto__=x, constructor', {}],
    [',,;=,"', {}],
    ['return=Minimal', {}]
  ] as const) {
    t.strictSame(parsePreferences(field), expected, field ?? 'missing')
  }
  t.equal(parsePreferences(undefined), parsePreferences(undefined), 'no object is created without a header')
  t.ok(Object.isFrozen(parsePreferences(undefined)))
})

test('Preference-Applied names the applied preferences (RFC 7240, section 3)', async (t) => {
  t.equal(formatPreferenceApplied({}), undefined)
  t.equal(formatPreferenceApplied({ return: 'minimal' }), 'return=minimal')
})

test('links are escaped so that no value ends them early (RFC 8288, section 3)', async (t) => {
  t.equal(formatLink([]), '')
  t.equal(formatLink([{ href: '/books?limit=2&after=x', rel: 'next' }]), '</books?limit=2&after=x>; rel="next"')
  t.equal(
    formatLink([
      { href: '/a', rel: 'first' },
      { href: '/b', rel: 'https://example.org/rel', type: 'application/json' }
    ]),
    '</a>; rel="first", </b>; rel="https://example.org/rel"; type="application/json"'
  )
  t.equal(
    formatLink([{ href: '/a', rel: 'x', title: 'say "hi" \\ now, <b>; ok' }]),
    '</a>; rel="x"; title="say \\"hi\\" \\\\ now, <b>; ok"'
  )
  t.equal(
    formatLink([{ href: '/a', rel: 'x', title: 'Bücher 😀 (1)' }]),
    '</a>; rel="x"; title*=UTF-8\'\'B%C3%BCcher%20%F0%9F%98%80%20%281%29'
  )
  t.equal(
    formatLink([{ href: '/a', rel: 'x', title: 'a\r\nSet-Cookie: b' }]),
    '</a>; rel="x"; title*=UTF-8\'\'a%0D%0ASet-Cookie%3A%20b'
  )
  t.equal(
    formatLink([{ href: '/a>; rel="evil" é\ud800\n', rel: 'x"\n', type: 'a"/b' }]),
    '</a%3E;%20rel=%22evil%22%20%C3%A9%EF%BF%BD%0A>; rel="x\\"%0A"; type="a\\"/b"'
  )
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      (href, rel, title) => {
        assert.match(
          formatLink([{ href, rel, title, type: title }]),
          /^<[!#-;=?-~]*>; rel="(?:[ !#-[\]-~]|\\["\\])*"; title(?:="(?:[ !#-[\]-~]|\\["\\])*"|\*=UTF-8''[A-Za-z0-9!#$&+.^_`|~%-]*); type="(?:[ !#-[\]-~]|\\["\\])*"$/
        )
      }
    )
  )
})

test('Vary is merged without duplicates, and * replaces all names (RFC 9110, section 12.5.5)', async (t) => {
  t.equal(mergeVary(undefined, 'Accept'), 'Accept')
  t.equal(mergeVary(undefined, 'Accept', 'accept', 'Prefer'), 'Accept, Prefer')
  t.equal(mergeVary('Origin', 'Accept'), 'Origin, Accept')
  t.equal(mergeVary('origin,  ACCEPT', 'Accept', 'Origin'), 'origin, ACCEPT')
  t.equal(mergeVary('*', 'Accept'), '*')
  t.equal(mergeVary('Accept', '*'), '*')
  t.equal(mergeVary('', 'Accept'), 'Accept')
})

test('the policy of a response that depends on several collections allows nothing that one of them does not', async (t) => {
  const hour = 'public, max-age=3600'
  for (const [first, second, merged] of [
    [hour, hour, hour],
    [hour, 'public, max-age=60', 'public, max-age=60'],
    [hour, 'PRIVATE, Max-Age=60', 'private, max-age=60'],
    [hour, 'max-age=60', 'max-age=60'],
    [hour, 'public, max-age=600, s-maxage=60', 'public, max-age=60'],
    [hour, 'public, s-maxage=60', 'public, no-cache'],
    [hour, 'private', 'private, no-cache'],
    [hour, 'private="x-name"', 'private, no-cache'],
    [hour, 'no-cache', 'no-cache'],
    [hour, 'public, max-age=60, must-revalidate', 'public, no-cache'],
    [hour, 'public, max-age=60, stale-while-revalidate=600', 'public, no-cache'],
    [hour, 'no-store', 'no-store'],
    ['private, no-cache', 'private, max-age=60', 'private, no-cache'],
    ['private, max-age=60', 'no-cache, no-store', 'no-store']
  ] as const) {
    for (const [own, other] of [[first, second], [second, first]] as const) {
      const { anonymous, withCredentials } = mergePolicies(toCachePolicy(own), [toCachePolicy(other)])
      t.strictSame([anonymous, withCredentials], [merged, merged], `${own} and ${other}`)
    }
  }
  const mixed = mergePolicies(toCachePolicy(hour), [toCachePolicy('public, max-age=60'), toCachePolicy(undefined)])
  t.strictSame(mixed, { anonymous: 'no-cache', withCredentials: 'no-store' })
  t.equal(mergePolicies({ ...toCachePolicy('private'), dependsOnCaller: true }, [toCachePolicy(undefined)]).dependsOnCaller, true)
})

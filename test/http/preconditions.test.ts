import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import fc from 'fast-check'
import { test } from 'tap'
import { formatDate, parseDate } from '../../lib/http/date.ts'
import { buildEntityTag, parseEntityTags, isStrongMatch, isWeakMatch } from '../../lib/http/entity-tag.ts'
import { isConditional, isConditionalWrite, evaluatePreconditions } from '../../lib/http/preconditions.ts'
import type { Outcome, PreconditionFields, Validators } from '../../lib/http/preconditions.ts'

const example = new Date('1994-11-06T08:49:37Z')

test('the three date formats are parsed, and the first is written (RFC 9110, section 5.6.7)', async (t) => {
  for (const field of ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994']) {
    t.strictSame(parseDate(field), example, field)
  }
  t.equal(formatDate(example), 'Sun, 06 Nov 1994 08:49:37 GMT')
  t.equal(formatDate(new Date('2024-02-29T23:59:59.999Z')), 'Thu, 29 Feb 2024 23:59:59 GMT')
  t.strictSame(parseDate('Thu, 29 Feb 2024 00:00:00 GMT'), new Date('2024-02-29T00:00:00Z'))
  t.strictSame(parseDate('Sat, 31 Dec 2016 23:59:60 GMT'), new Date('2017-01-01T00:00:00Z'), 'a leap second')
  t.strictSame(parseDate('Sun Nov 16 08:49:37 0094'), new Date('0094-11-16T08:49:37Z'), 'a year of the first century')
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
      (date) => {
        assert.equal(parseDate(formatDate(date))?.getTime(), Math.floor(date.getTime() / 1000) * 1000)
      }
    )
  )
})

test('any other text is not a date (RFC 9110, section 5.6.7)', async (t) => {
  for (const field of [
    '',
    '0',
    'yesterday',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0000',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:37 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    'Sun, 06-Nov-94 08:49:37 GMT',
    'Sun, 31 Feb 2021 00:00:00 GMT',
    'Mon, 29 Feb 2021 00:00:00 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sunday, 31-Nov-94 08:49:37 GMT',
    'Sun Nov 31 08:49:37 1994',
    'Sun Nov 6 08:49:37 1994',
    ' Sun, 06 Nov 1994 08:49:37 GMT'
  ]) {
    t.equal(parseDate(field), undefined, field)
  }
})

test('a two-digit year is at most 50 years in the future (RFC 9110, section 5.6.7)', async (t) => {
  const rfc850 = (date: Date): string => {
    const [, day, month, year = '', time] = formatDate(date).split(' ')
    return `Monday, ${day}-${month}-${year.slice(2)} ${time} GMT`
  }
  const now = new Date()
  for (const [years, days, expected] of [
    [0, 0, 0],
    [49, 0, 49],
    [50, -2, 50],
    [50, 2, -50],
    [51, 0, -49],
    [99, 0, -1]
  ] as const) {
    const date = new Date(Date.UTC(now.getUTCFullYear() + years, now.getUTCMonth(), now.getUTCDate() + days, 12))
    const century = years - expected
    const interpreted = new Date(Date.UTC(date.getUTCFullYear() - century, date.getUTCMonth(), date.getUTCDate(), 12))
    t.strictSame(parseDate(rfc850(date)), interpreted, rfc850(date))
  }
})

test('lists of entity tags are parsed, and malformed ones are left out (RFC 9110, section 8.8.3)', async (t) => {
  for (const [field, tags] of [
    ['*', '*'],
    ['"xyzzy"', ['"xyzzy"']],
    ['W/"xyzzy"', ['W/"xyzzy"']],
    ['""', ['""']],
    ['"xyzzy", "r2d2xxxx", "c3piozzzz"', ['"xyzzy"', '"r2d2xxxx"', '"c3piozzzz"']],
    ['W/"xyzzy",W/"r2d2xxxx"\t,  "c3piozzzz"', ['W/"xyzzy"', 'W/"r2d2xxxx"', '"c3piozzzz"']],
    [', ,"a",,"b" ,', ['"a"', '"b"']],
    ['"a,b", "c\\", "W/"', ['"a,b"', '"c\\"', '"W/"']],
    ['"\x80\xff!#~{}"', ['"\x80\xff!#~{}"']],
    ['', []],
    [' ', []],
    ['xyzzy', []],
    ['w/"a"', []],
    ['W/ "a"', []],
    ['W/*', []],
    ["'a'", []],
    ['"a" "b"', []],
    ['"a', []],
    ['"a b"', []],
    ['"a\x7fb"', []],
    ['xyzzy, "b"', ['"b"']],
    ['*, "b"', ['"b"']],
    ['"a"x, "b"', ['"b"']],
    ['x"a, "b", c"', []],
    ['x"a, b", "c"', ['"c"']],
    ['"a", "b', ['"a"']]
  ] as const) {
    t.strictSame(parseEntityTags(field), tags, field)
  }
  fc.assert(
    fc.property(fc.string(), (field) => {
      const tags = parseEntityTags(field)
      assert.ok(tags === '*' || tags.every((tag) => field.includes(tag)))
    })
  )
})

test('entity tags are compared strongly or weakly (RFC 9110, section 8.8.3.2)', async (t) => {
  for (const [one, other, strong, weak] of [
    ['W/"1"', 'W/"1"', false, true],
    ['W/"1"', 'W/"2"', false, false],
    ['W/"1"', '"1"', false, true],
    ['"1"', '"1"', true, true],
    ['"1"', '"2"', false, false]
  ] as const) {
    t.equal(isStrongMatch(one, other), strong, `${one} ${other}`)
    t.equal(isWeakMatch(one, other), weak, `${one} ${other}`)
    t.equal(isStrongMatch(other, one), strong)
    t.equal(isWeakMatch(other, one), weak)
  }
})

test('an entity tag can be built from any text, and different texts have different tags', async (t) => {
  t.equal(buildEntityTag('0191f5c2-7b5e', 'json'), '"0191f5c2-7b5e.json"')
  t.equal(buildEntityTag('', ''), '"."')
  t.equal(buildEntityTag('a"b c%é', 'é'), '"a%0022b%0020c%0025%00e9.%00e9"')
  t.not(buildEntityTag('"', 'json'), buildEntityTag('%0022', 'json'))
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.deepEqual(parseEntityTags(buildEntityTag(text, 'json')), [buildEntityTag(text, 'json')])
    })
  )
})

const before = 'Sun, 06 Nov 1994 08:49:36 GMT'
const same = 'Sun, 06 Nov 1994 08:49:37 GMT'
const current: Validators = { tag: '"json"', others: () => ['"xml"'], modified: new Date(example.getTime() + 500) }

function get (fields: PreconditionFields, validators: Validators | undefined = current): Outcome {
  return evaluatePreconditions({ safe: true, fields, current: validators })
}

function put (fields: PreconditionFields, validators: Validators | undefined = current): Outcome {
  return evaluatePreconditions({ safe: false, fields, current: validators })
}

function buildFields (...[match, unmodified, none, modified]: readonly (string | undefined)[]): PreconditionFields {
  return { 'if-match': match, 'if-unmodified-since': unmodified, 'if-none-match': none, 'if-modified-since': modified }
}

test('every set of false preconditions has the specified result (RFC 9110, section 13.2.2)', async (t) => {
  const [im, ius, inm, ims] = ['"old"', before, '"json"', same]
  for (const [fields, safe, unsafe] of [
    [buildFields(), 'proceed', 'proceed'],
    [buildFields(undefined, undefined, undefined, ims), 'not modified', 'proceed'],
    [buildFields(undefined, undefined, inm, undefined), 'not modified', 'failed'],
    [buildFields(undefined, undefined, inm, ims), 'not modified', 'failed'],
    [buildFields(undefined, ius, undefined, undefined), 'failed', 'failed'],
    [buildFields(undefined, ius, undefined, ims), 'failed', 'failed'],
    [buildFields(undefined, ius, inm, undefined), 'failed', 'failed'],
    [buildFields(undefined, ius, inm, ims), 'failed', 'failed'],
    [buildFields(im, undefined, undefined, undefined), 'failed', 'failed'],
    [buildFields(im, undefined, undefined, ims), 'failed', 'failed'],
    [buildFields(im, undefined, inm, undefined), 'failed', 'failed'],
    [buildFields(im, undefined, inm, ims), 'failed', 'failed'],
    [buildFields(im, ius, undefined, undefined), 'failed', 'failed'],
    [buildFields(im, ius, undefined, ims), 'failed', 'failed'],
    [buildFields(im, ius, inm, undefined), 'failed', 'failed'],
    [buildFields(im, ius, inm, ims), 'failed', 'failed']
  ] as const) {
    t.equal(get(fields), safe, JSON.stringify(fields))
    t.equal(put(fields), unsafe, JSON.stringify(fields))
  }
})

test('every combination of all four preconditions ignores dates beside tags (RFC 9110, section 13.2.2)', async (t) => {
  const [im, ius, inm, ims] = [
    { T: '"json"', F: '"old"' },
    { T: same, F: before },
    { T: '"old"', F: '"json"' },
    { T: before, F: same }
  ]
  for (const [outcomes, safe, unsafe] of [
    ['TTTT', 'proceed', 'proceed'],
    ['TTTF', 'proceed', 'proceed'],
    ['TTFT', 'not modified', 'failed'],
    ['TTFF', 'not modified', 'failed'],
    ['TFTT', 'proceed', 'proceed'],
    ['TFTF', 'proceed', 'proceed'],
    ['TFFT', 'not modified', 'failed'],
    ['TFFF', 'not modified', 'failed'],
    ['FTTT', 'failed', 'failed'],
    ['FTTF', 'failed', 'failed'],
    ['FTFT', 'failed', 'failed'],
    ['FTFF', 'failed', 'failed'],
    ['FFTT', 'failed', 'failed'],
    ['FFTF', 'failed', 'failed'],
    ['FFFT', 'failed', 'failed'],
    ['FFFF', 'failed', 'failed']
  ] as const) {
    const [a, b, c, d] = outcomes.split('') as Array<'T' | 'F'>
    const fields = buildFields(im[a ?? 'T'], ius[b ?? 'T'], inm[c ?? 'T'], ims[d ?? 'T'])
    t.equal(get(fields), safe, outcomes)
    t.equal(put(fields), unsafe, outcomes)
  }
  t.equal(get(buildFields(undefined, same, undefined, before)), 'proceed')
  t.equal(put(buildFields(undefined, same, undefined, before)), 'proceed')
})

test('If-Match accepts any tag of the version, on a write also one that a proxy made weak (RFC 9110, section 13.1.1)', async (t) => {
  const xyzzy: Validators = { tag: '"xyzzy"', modified: undefined }
  t.equal(put({ 'if-match': '"xyzzy"' }, xyzzy), 'proceed')
  t.equal(put({ 'if-match': '"xyzzy", "r2d2xxxx", "c3piozzzz"' }, xyzzy), 'proceed')
  t.equal(put({ 'if-match': '*' }, xyzzy), 'proceed')
  t.equal(put({ 'if-match': '"r2d2xxxx", "c3piozzzz"' }, xyzzy), 'failed')
  t.equal(put({ 'if-match': '"xml"' }), 'proceed', 'a tag of another format')
  t.equal(put({ 'if-match': 'xyzzy' }, xyzzy), 'failed', 'a malformed tag never matches')
  t.equal(put({ 'if-match': '' }, xyzzy), 'failed')
  t.equal(get({ 'if-match': '"old"' }), 'failed')
  t.equal(put({ 'if-match': 'W/"xyzzy"' }, xyzzy), 'proceed')
  t.equal(put({ 'if-match': 'W/"xml"' }), 'proceed')
  t.equal(put({ 'if-match': 'W/"old"' }), 'failed')
  t.equal(get({ 'if-match': 'W/"json"' }), 'failed', 'a read compares strongly')
})

test('If-None-Match compares weakly, on GET only with the selected format (RFC 9110, section 13.1.2)', async (t) => {
  for (const field of ['"json"', 'W/"json"', '"xyzzy", "json"', 'W/"xyzzy", W/"json"', '*']) {
    t.equal(get({ 'if-none-match': field }), 'not modified', field)
    t.equal(put({ 'if-none-match': field }), 'failed', field)
  }
  for (const field of ['"old"', 'json', '']) {
    t.equal(get({ 'if-none-match': field }), 'proceed', field)
    t.equal(put({ 'if-none-match': field }), 'proceed', field)
  }
  t.equal(get({ 'if-none-match': '"xml"' }), 'proceed')
  t.equal(put({ 'if-none-match': '"xml"' }), 'failed')
  t.equal(get({ 'if-none-match': 'W/"list"' }, { tag: 'W/"list"', modified: undefined }), 'not modified')
})

test('dates are compared to the second, and ignored if invalid (RFC 9110, sections 13.1.3 and 13.1.4)', async (t) => {
  t.equal(get({ 'if-modified-since': same }), 'not modified')
  t.equal(get({ 'if-modified-since': before }), 'proceed')
  t.equal(put({ 'if-modified-since': same }), 'proceed')
  t.equal(put({ 'if-unmodified-since': same }), 'proceed')
  t.equal(put({ 'if-unmodified-since': before }), 'failed')
  t.equal(get({ 'if-modified-since': 'Sunday, 06-Nov-94 08:49:37 GMT' }), 'not modified')
  for (const field of ['', 'never', '1994-11-06']) {
    t.equal(get({ 'if-modified-since': field }), 'proceed', field)
    t.equal(put({ 'if-unmodified-since': field }), 'proceed', field)
  }
  const dateless: Validators = { tag: '"json"', modified: undefined }
  t.equal(get({ 'if-modified-since': same }, dateless), 'proceed')
  t.equal(put({ 'if-unmodified-since': before }, dateless), 'proceed')
})

test('preconditions are evaluated for a target that does not exist (RFC 9110, section 13.1)', async (t) => {
  const evaluateMissing = (fields: PreconditionFields): Outcome =>
    evaluatePreconditions({ safe: false, fields, current: undefined })
  t.equal(evaluateMissing({ 'if-match': '*' }), 'failed')
  t.equal(evaluateMissing({ 'if-match': '"json"' }), 'failed')
  t.equal(evaluateMissing({ 'if-none-match': '*' }), 'proceed')
  t.equal(evaluateMissing({ 'if-none-match': '"json"' }), 'proceed')
  t.equal(evaluateMissing({ 'if-unmodified-since': before }), 'proceed')
  t.equal(evaluatePreconditions({ safe: true, fields: { 'if-modified-since': same }, current: undefined }), 'proceed')
})

test('isConditional detects any precondition, and isConditionalWrite one that restricts a write', async (t) => {
  const headers: IncomingHttpHeaders = { host: 'example.org' }
  t.equal(isConditional(headers), false)
  t.equal(isConditionalWrite(headers, true), false)
  for (const [fields, holds] of [
    [{ 'if-match': '*' }, true],
    [{ 'if-none-match': '*' }, true],
    [{ 'if-unmodified-since': same }, true],
    [{ 'if-unmodified-since': 'never' }, false],
    [{ 'if-modified-since': same }, false]
  ] as const) {
    t.equal(isConditional(fields), true, JSON.stringify(fields))
    t.equal(isConditionalWrite(fields, true), holds, JSON.stringify(fields))
  }
})

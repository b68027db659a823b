import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { isExactDouble } from '../../lib/formats/decimal.ts'
import { Malformed } from '../../lib/formats/format.ts'
import { parseIJson } from '../../lib/formats/i-json.ts'
import { readIJson } from '../../lib/formats/i-json-reader.ts'

function parse (text: string): unknown {
  return parseIJson(Buffer.from(text))
}

/** The detail of the refusal, or undefined if there is none. */
function refusal (content: string | Buffer): string | undefined {
  try {
    parseIJson(Buffer.from(content))
    return undefined
  } catch (thrown) {
    if (thrown instanceof Malformed) return thrown.detail
    throw thrown
  }
}

function readRefusal (text: string): string | undefined {
  try {
    readIJson(text)
    return undefined
  } catch (thrown) {
    return (thrown as Malformed).detail
  }
}

function isJson (text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Whether a double represents a number exactly, by exact arithmetic. */
function isSameNumber (literal: string): boolean {
  const value = Number(literal)
  if (!Number.isFinite(value)) return false
  const scale = (text: string): [bigint, number] => {
    const [, sign = '', integer = '', fraction = '', power = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
    return [BigInt(sign + integer + fraction), Number(power) - fraction.length]
  }
  const [one, oneExponent] = scale(literal)
  const [other, otherExponent] = scale(String(value))
  if (one === 0n || other === 0n) return one === other
  const least = Math.min(oneExponent, otherExponent)
  if (Math.max(oneExponent, otherExponent) - least > 2000) return false
  return one * 10n ** BigInt(oneExponent - least) === other * 10n ** BigInt(otherExponent - least)
}

test('valid JSON is parsed as JSON.parse does (RFC 8259)', async (t) => {
  for (const text of [
    'null',
    'true',
    '0',
    '-1.5',
    '""',
    '[]',
    '{}',
    ' [ 1 , 2 ] \r\n\t',
    '{"a":{"b":[{"c":null}]}}',
    '{"":{"":0}}',
    '{"a":"x:y","b":"at 12:30:00, http://example.org/?a=:b"}',
    '{"a" : 1 ,\n"b"\t:2}',
    '"a\\"b\\\\:\\u00e9\\/"',
    '{"remarque":"note : oui"}',
    '{"a":":smile:"}',
    '{"a\\":":1}',
    '"\\\\ud800"',
    '"\\\\u0000"',
    '"\\ud83d\\ude00"',
    '"\\uD83D\\uDE00\\n\\ud83d\\ude00"',
    '"😀"',
    '"\\ud7ff"',
    '{"constructor":1}',
    '{"constructor":{"name":"x"}}',
    '{"prototype":{"constructor":{}}}',
    '{"toString":1,"hasOwnProperty":2}',
    '"1234567890123456789"',
    '"id 1234567890123456789"',
    '"v 1.2.3.4.5.6.7.8.9.10"',
    '"2b5e-7123"',
    '"1e-400"',
    '"x 1e-400 "',
    '[true,false,null,"e-123",1e-5,1e-300]'
  ]) {
    t.equal(JSON.stringify(parse(text)), JSON.stringify(JSON.parse(text)), text)
  }
})

test('a byte order mark is ignored, and content that is not UTF-8 is rejected (RFC 8259, section 8.1)', async (t) => {
  t.strictSame(parse('\ufeff{"a":1}'), { a: 1 })
  t.equal(refusal(Buffer.from([0x22, 0xff, 0x22])), 'The content is not UTF-8.')
  t.equal(refusal(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), 'The content is not UTF-8.', 'an encoded surrogate')
  t.equal(
    refusal(Buffer.from('"a"', 'utf16le')),
    'Line 1, column 2: a character or an escape of a string was expected.'
  )
})

test('invalid JSON is rejected with line and column (RFC 8259, section 2)', async (t) => {
  for (const [text, detail] of [
    ['', 'The content is empty.'],
    [' \n ', 'Line 2, column 2: a value was expected.'],
    ['\ufeff', 'Line 1, column 1: a value was expected.'],
    ['{', 'Line 1, column 2: a member name was expected.'],
    ['{a:1}', 'Line 1, column 2: a member name was expected.'],
    ['{"a"}', 'Line 1, column 5: ":" was expected.'],
    ['{"a":}', 'Line 1, column 6: a value was expected.'],
    ['{"a":1,}', 'Line 1, column 8: a member name was expected.'],
    ['{"a":1 "b":2}', 'Line 1, column 8: "," or "}" was expected.'],
    ['[1,]', 'Line 1, column 4: a value was expected.'],
    ['[1 2]', 'Line 1, column 4: "," or "]" was expected.'],
    ['[,1]', 'Line 1, column 2: a value was expected.'],
    ['[1', 'Line 1, column 3: "," or "]" was expected.'],
    ['{} {}', 'Line 1, column 4: the end of the content was expected.'],
    ['01', 'Line 1, column 2: the end of the content was expected.'],
    ['[1.]', 'Line 1, column 3: "," or "]" was expected.'],
    ['+1', 'Line 1, column 1: a value was expected.'],
    ['NaN', 'Line 1, column 1: a value was expected.'],
    ['{\n  "é😀": tru\n}', 'Line 2, column 9: a value was expected.'],
    ['"a\nb"', 'Line 1, column 3: a character or an escape of a string was expected.'],
    ['"a\\x"', 'Line 1, column 3: a character or an escape of a string was expected.'],
    ['"a\\u12g4"', 'Line 1, column 3: a character or an escape of a string was expected.'],
    ['"abc', 'Line 1, column 5: a character or an escape of a string was expected.'],
    ["{'a':1}", 'Line 1, column 2: a member name was expected.'],
    ['[1]//', 'Line 1, column 4: the end of the content was expected.']
  ] as const) {
    t.equal(refusal(text), detail, JSON.stringify(text))
  }
})

test('a duplicate member name is rejected (RFC 7493, section 2.3)', async (t) => {
  t.equal(refusal('{"a":1,"a":1}'), 'Line 1, column 8: the member at "/a" occurs more than once.')
  t.equal(refusal('{"a":1,"\\u0061":2}'), 'Line 1, column 8: the member at "/a" occurs more than once.')
  t.equal(
    refusal('[{"x/y":{\n"b" :1,\n"b" :2}}]'),
    'Line 3, column 1: the member at "/0/x~1y/b" occurs more than once.'
  )
  t.equal(refusal('{"a":{"b":1,"c":2},"a":"x : y"}'), 'Line 1, column 20: the member at "/a" occurs more than once.')
  t.equal(
    refusal('[{"op":"add","path":"/baz","value":"qux","op":"remove"}]'),
    'Line 1, column 42: the member at "/0/op" occurs more than once.'
  )
  t.strictSame(parse('[{"a":1},{"a":{"a":1}}]'), [{ a: 1 }, { a: { a: 1 } }])
})

test('members that would reach a prototype are rejected at any depth', async (t) => {
  t.equal(refusal('{"__proto__":1}'), 'Line 1, column 2: a member cannot be named "__proto__".')
  t.equal(refusal('[{"a":{"__proto__":{"b":1}}}]'), 'Line 1, column 8: a member cannot be named "__proto__".')
  t.equal(refusal('{"__pro\\u0074o__":null}'), 'Line 1, column 2: a member cannot be named "__proto__".')
  t.equal(refusal('{"constructor":{"prototype":{}}}'), 'Line 1, column 17: a "constructor" cannot have a "prototype".')
  t.equal(
    refusal('{"a":[{"constructor":{"b":1,"prototype":2}}]}'),
    'Line 1, column 29: a "constructor" cannot have a "prototype".'
  )
})

test('names with escapes are parsed correctly, regardless of earlier content', async (t) => {
  t.strictSame(parse('{"h":[],"\\\\":0}'), { h: [], '\\': 0 })
  t.strictSame(parse('{"h":1,"\\"":2}'), { h: 1, '"': 2 })
  t.strictSame(parse('{"h":1,"\\n" :"\\n"}'), { h: 1, '\n': '\n' })
  t.strictSame(parse('{"h":"\\"","k":["\\\\"]}'), { h: '"', k: ['\\'] })
})

test('an enumerable property of Object.prototype does not affect parsing', async (t) => {
  const shared: object = Object.getPrototypeOf({})
  t.teardown(() => {
    Reflect.deleteProperty(shared, 'stranger')
  })
  Object.defineProperty(shared, 'stranger', { value: 1, enumerable: true, configurable: true })
  t.equal(JSON.stringify(parse('{"a":1}')), '{"a":1}')
  t.equal(refusal('{"a":1,"a":1}'), 'Line 1, column 8: the member at "/a" occurs more than once.')
})

test('lone surrogates and U+0000 are rejected in names and strings (RFC 7493, section 2.1)', async (t) => {
  for (const text of [
    '"\\ud800"',
    '"\\uDFFF"',
    '"x\\ud83d\\ud83d\\ude00"',
    '"\\ude00\\ud83d"',
    '{"\\ud800":1}',
    '["\\ud83dx\\ude00"]',
    '"\\\\\\ud800"',
    '"\\ud83d\\ude00\\ude00"',
    '"\\\\ud83d\\ude00"'
  ]) {
    t.match(refusal(text), /^Line 1, column [12]: a string cannot contain half of a surrogate pair\.$/, text)
  }
  t.equal(refusal('["a\\u0000b"]'), 'Line 1, column 2: a string cannot contain U+0000.')
  t.equal(refusal('{"\\u0000":1}'), 'Line 1, column 2: a string cannot contain U+0000.')
})

test('a number that a double cannot represent is rejected (RFC 7493, section 2.2)', async (t) => {
  for (const literal of [
    '1e400',
    '-1e400',
    '1e-400',
    '-1E-400',
    '9007199254740993',
    '-9007199254740993',
    '123456789012345678',
    '123456789012345678000',
    '0.1000000000000000055',
    '1.00000000000000000001',
    '1.3e-323',
    '3e-324',
    '12345678901234567890e-400',
    '1e99999999999999999999',
    '1e-99999999999999999999',
    '0.30000000000000001',
    '9007199254740993e0',
    '4611686018427387904' // 2^62 is a double, but JSON.stringify(2 ** 62) is 4611686018427388000.
  ]) {
    const value = Number(literal)
    const why = Number.isFinite(value) ? `would be returned as ${value}` : 'is too large for a double'
    t.equal(refusal(`{"a":[${literal}]}`), `Line 1, column 7: the number at "/a/0" ${why}.`)
    t.equal(refusal(literal), `Line 1, column 1: the number at "" ${why}.`)
  }
  for (const literal of [
    '0',
    '-0',
    '0.0',
    '-0.0e-400',
    '0e400',
    '1.10',
    '1e2',
    '1E+2',
    '0.1',
    '100',
    '1.000000000000000000000',
    '10000000000000000000000',
    '123456789012345680000',
    '9007199254740992',
    '9007199254740994',
    '0.30000000000000004',
    '1.7976931348623157e308',
    '5e-324',
    '2.2250738585072014e-308',
    '1e-307',
    '51.50735123456789e0',
    '0.000000000000000000001',
    '1e0000000000000000001',
    '1e-0000000000000000001'
  ]) {
    const text = `{"a": ${literal} ,"b":"x"}`
    t.strictSame(parse(text), JSON.parse(text), literal)
  }
})

test('content nested deeper than 64 levels is rejected', async (t) => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  const objects = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
  t.strictSame(parse(nested(64)), JSON.parse(nested(64)))
  t.strictSame(parse(objects(64)), JSON.parse(objects(64)))
  t.equal(refusal(nested(65)), 'Line 1, column 65: the content is nested deeper than 64 levels.')
  t.match(refusal(objects(65)), /deeper than 64 levels/)
  t.match(refusal(nested(200_000)), /deeper than 64 levels/)
  t.match(refusal('['.repeat(200_000)), /deeper than 64 levels/)
})

test('any value written by JSON.stringify is parsed back', async () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(3), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      fc.pre(!/"(?:__proto__|constructor)"/.test(text) && !text.includes('\\u0000'))
      assert.equal(JSON.stringify(parse(text), null, indent), text)
    }),
    { numRuns: 500 }
  )
})

test('an object is rejected exactly if two of its names are equal', async () => {
  const name = fc.constantFrom('a', 'b', 'c:', ' : ', ':', '"', '\\', '\\":', 'é')
  fc.assert(
    fc.property(fc.array(fc.tuple(name, name, fc.constantFrom('', ' ', '\n')), { maxLength: 6 }), (members) => {
      const text = `{${members.map(([name, value, space]) => `${JSON.stringify(name)}${space}:${JSON.stringify(value)}`).join(',')}}`
      assert.equal(refusal(text) === undefined, new Set(members.map(([name]) => name)).size === members.length, text)
    }),
    { numRuns: 1000 }
  )
})

test('the fast path agrees with the exact parser, and both with JSON.parse', async () => {
  const part = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    '"a"',
    '"b"',
    '"a":',
    '"',
    '\\',
    '\\ud83d',
    '\\ude00',
    '"\\ud83d\\ude00"',
    '\\u0000',
    '1',
    '-',
    '.5',
    '1e-400',
    '123456789012345678',
    'true',
    'null',
    '\n'
  )
  const value = fc.oneof(
    part,
    fc.array(part, { maxLength: 5 }).map((parts) => `"${parts.join('')}"`),
    fc.array(part, { maxLength: 3 }).map((parts) => `[${parts.join(',')}]`)
  )
  const member = fc.tuple(fc.constantFrom('a', 'b', 'c:', ' :'), value).map(([name, value]) => `"${name}":${value}`)
  const text = fc.oneof(
    fc.array(part, { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')),
    fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(',')}}`)
  )
  fc.assert(
    fc.property(text, (text) => {
      const detail = refusal(text)
      assert.equal(detail, readRefusal(text), text)
      if (!isJson(text)) assert.equal(typeof detail, 'string', text)
      else assert.doesNotMatch(detail ?? '', /expected/, text)
    }),
    { numRuns: 5000 }
  )
})

test('the number check agrees with exact arithmetic', async () => {
  const digits = fc.stringMatching(/^(?:0|[1-9][0-9]{0,20})$/)
  const literal = fc
    .tuple(
      fc.constantFrom('', '-'),
      digits,
      fc.option(fc.stringMatching(/^[0-9]{1,20}$/)),
      fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), fc.nat(340)))
    )
    .map(
      ([sign, integer, fraction, power]) =>
        `${sign}${integer}${fraction === null ? '' : '.' + fraction}${power === null ? '' : power.join('')}`
    )
  fc.assert(
    fc.property(
      fc.oneof(literal, fc.double({ noNaN: true, noDefaultInfinity: true }).map(String)),
      fc.nat(20),
      (literal, space) => {
        assert.equal(isExactDouble(literal), isSameNumber(literal), literal)
        assert.equal(refusal(`[${' '.repeat(space)}${literal}]`) === undefined, isSameNumber(literal), literal)
      }
    ),
    { numRuns: 2000 }
  )
})

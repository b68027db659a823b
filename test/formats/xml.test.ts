import assert from 'node:assert/strict'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { test } from 'tap'
import { Malformed } from '../../lib/formats/index.ts'
import { xml } from '../../lib/formats/xml.ts'
import type { Shape } from '../../lib/storage/index.ts'
import { isProportional } from '../growth.ts'

type JsonSchema = Shape['schema']

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const open: JsonSchema = { type: 'object' }

function write (item: object, schema: JsonSchema = open): string {
  return String(xml.item(item, {}, schema))
}

function parse (content: string | Buffer, schema: JsonSchema = open): unknown {
  assert(xml.parse)
  return xml.parse(Buffer.from(content), schema)
}

/** The schema of an object with the one property `a`. */
function withProperty (schema: JsonSchema): JsonSchema {
  return { type: 'object', properties: { a: schema } }
}

function detail (content: string | Buffer, schema?: JsonSchema): string {
  try {
    return `read: ${JSON.stringify(parse(content, schema))}`
  } catch (error) {
    assert(error instanceof Malformed, String(error))
    return error.detail
  }
}

test('a value with a type in the schema is written without a type attribute and read as declared', async (t) => {
  const Person = Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    score: Type.Number(),
    admin: Type.Boolean(),
    gone: Type.Null(),
    nickname: Type.Union([Type.String(), Type.Null()]),
    tags: Type.Array(Type.String()),
    matrix: Type.Array(Type.Array(Type.Integer())),
    pets: Type.Array(Type.Object({ name: Type.String(), legs: Type.Integer() })),
    address: Type.Object({ city: Type.String() }),
    nothing: Type.Record(Type.String(), Type.String()),
    none: Type.Array(Type.Integer()),
    role: Type.Union([Type.Literal('user'), Type.Literal('admin')])
  })
  const person = {
    id: 7,
    name: 'Ann & Bob',
    score: -1.5e-7,
    admin: true,
    gone: null,
    nickname: 'A',
    tags: ['x', ''],
    matrix: [[1, 2], []],
    pets: [{ name: 'Rex', legs: 4 }],
    address: { city: 'Bern' },
    nothing: {},
    none: [],
    role: 'admin'
  }
  t.equal(
    write(person, Person),
    declaration +
      '<item><id>7</id><name>Ann &amp; Bob</name><score>-1.5e-7</score><admin>true</admin><gone/>' +
      '<nickname>A</nickname><tags><item>x</item><item/></tags><matrix><item><item>1</item><item>2</item></item><item/></matrix>' +
      '<pets><item><name>Rex</name><legs>4</legs></item></pets><address><city>Bern</city></address><nothing/><none/><role>admin</role></item>'
  )
  t.strictSame(parse(write(person, Person), Person), person)
})

test('a value without a type in the schema is written with a type attribute', async (t) => {
  const cases: Array<[unknown, JsonSchema, string]> = [
    [1, {}, '<a type="number">1</a>'],
    [false, {}, '<a type="boolean">false</a>'],
    [null, {}, '<a type="null"/>'],
    ['', {}, '<a/>'],
    ['1', {}, '<a>1</a>'],
    [[], {}, '<a type="array"/>'],
    [{}, {}, '<a type="object"/>'],
    [[1, [null]], {}, '<a type="array"><item type="number">1</item><item type="array"><item type="null"/></item></a>'],
    [{ b: true }, {}, '<a type="object"><b type="boolean">true</b></a>'],
    [null, { type: ['string', 'null'] }, '<a type="null"/>'],
    [null, { anyOf: [{ type: 'integer' }, { type: 'null' }] }, '<a type="null"/>'],
    [3, { anyOf: [{ type: 'integer' }, { type: 'null' }] }, '<a>3</a>'],
    [3, { oneOf: [{ type: 'integer' }, { type: 'number' }] }, '<a>3</a>'],
    [3, { type: ['integer', 'string'] }, '<a type="number">3</a>'],
    ['3', { type: 'integer' }, '<a type="string">3</a>'],
    ['3', { enum: [3, 4] }, '<a type="string">3</a>'],
    [3, { enum: [3, 4] }, '<a>3</a>'],
    [3, { enum: [3, 'x'] }, '<a type="number">3</a>'],
    [3, { const: 3 }, '<a>3</a>'],
    [true, true as unknown as JsonSchema, '<a type="boolean">true</a>'],
    [
      { b: 1, c: true },
      {
        allOf: [
          withProperty({}),
          { type: 'object', properties: { b: { type: 'integer' } } },
          { properties: { c: { type: 'boolean' } } }
        ]
      },
      '<a><b>1</b><c>true</c></a>'
    ],
    [
      { b: 1 },
      {
        anyOf: [
          { type: 'object', properties: { b: { type: 'integer' } } },
          { type: 'object', properties: { b: { type: 'boolean' } } }
        ]
      },
      '<a><b type="number">1</b></a>'
    ],
    [{ b: 1 }, Type.Record(Type.String(), Type.Number()), '<a><b>1</b></a>'],
    [{ b: 1 }, { type: 'object', additionalProperties: { type: 'number' } }, '<a><b>1</b></a>'],
    [
      ['x', 1, true],
      Type.Tuple([Type.String(), Type.Number()]),
      '<a><item>x</item><item>1</item><item type="boolean">true</item></a>'
    ],
    [
      ['x', 1, true],
      { type: 'array', items: [{ type: 'string' }], additionalItems: { type: 'number' } },
      '<a><item>x</item><item>1</item><item type="boolean">true</item></a>'
    ],
    [
      ['x', 1, 2],
      { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } },
      '<a><item>x</item><item>1</item><item>2</item></a>'
    ]
  ]
  for (const [value, schema, written] of cases) {
    t.equal(write({ a: value }, withProperty(schema)), `${declaration}<item>${written}</item>`)
    t.strictSame(parse(write({ a: value }, withProperty(schema)), withProperty(schema)), { a: value }, written)
  }
})

test('recursive schemas and references to definitions are resolved', async (t) => {
  const Tree = Type.Recursive((This) => Type.Object({ size: Type.Integer(), children: Type.Array(This) }))
  const written = '<item><size>1</size><children><item><size>2</size><children/></item></children></item>'
  const tree = { size: 1, children: [{ size: 2, children: [] }] }
  const definitions = {
    $defs: {
      Tree: {
        type: 'object',
        properties: { size: { type: 'integer' }, children: { type: 'array', items: { $ref: '#/$defs/Tree' } } }
      }
    },
    $ref: '#/$defs/Tree'
  }
  const root = {
    type: 'object',
    properties: { size: { type: 'integer' }, children: { type: 'array', items: { $ref: '#' } } }
  }
  const Node = Type.Module({
    Node: Type.Object({ size: Type.Integer(), children: Type.Array(Type.Ref('Node')) })
  }).Import('Node')
  for (const schema of [Tree, definitions, root, Node]) {
    t.equal(write(tree, schema), declaration + written)
    t.strictSame(parse(written, schema), tree)
  }
  for (const $ref of ['elsewhere', '#/$defs/absent/deeper', '#anchor', '#/properties/a']) {
    t.equal(
      write({ a: 1 }, withProperty({ $ref })),
      `${declaration}<item><a type="number">1</a></item>`,
      `${$ref} is unresolved: the type is written`
    )
  }
})

test('every string is read back unchanged', async (t) => {
  const cases: Array<[string, string]> = [
    ['  two  ', '<a>  two  </a>'],
    ['\t\n', '<a>\t\n</a>'],
    ['a\r\nb\rc\n', '<a>a&#13;\nb&#13;c\n</a>'],
    [']]>', '<a>]]&gt;</a>'],
    ['<!-- & "\' -->', '<a>&lt;!-- &amp; "\' --&gt;</a>'],
    ['&amp;', '<a>&amp;amp;</a>'],
    ['\u{1F600} \u00E9\u0085\u2028\uFFFD', '<a>\u{1F600} \u00E9\u0085\u2028\uFFFD</a>'],
    [
      'bell\x07 \\ " <\n\uFFFE\uFFFF\u{1F600}',
      '<a escape="json">bell\\u0007 \\\\ \\" &lt;\\n\\uFFFE\\uFFFF\u{1F600}</a>'
    ],
    ['true', '<a>true</a>'],
    ['null', '<a>null</a>']
  ]
  for (const [text, written] of cases) {
    const schema = withProperty({ type: 'string' })
    t.equal(write({ a: text }, schema), `${declaration}<item>${written}</item>`)
    t.strictSame(parse(write({ a: text }, schema), schema), { a: text })
    t.strictSame(
      parse(write({ a: text }, withProperty({ type: 'integer' })), withProperty({ type: 'integer' })),
      { a: text }
    )
  }
})

test('a property name that is not an XML name is escaped (ISO/IEC 9075-14)', async (t) => {
  const cases: Array<[string, string]> = [
    ['first name', 'first_x0020_name'],
    ['', '_'],
    ['_', '_x005F_'],
    ['__', '__'],
    ['1st', '_x0031_st'],
    ['-', '_x002D_'],
    ['a-b.c_d', 'a-b.c_d'],
    ['xml:lang', '_x0078_ml_x003A_lang'],
    ['XMLThing', '_x0058_MLThing'],
    ['pos_x', 'pos_x'],
    ['a_x0041_', 'a_x005F_x0041_'],
    ['_x0041_x0042_', '_x005F_x0041_x005F_x0042_'],
    ['_x0041 ', '_x005F_x0041_x0020_'],
    ['<a href="x">', '_x003C_a_x0020_href_x003D__x0022_x_x0022__x003E_'],
    ['naïve', 'naïve'],
    ['名前', '名前'],
    ['\u{1F600}', '\u{1F600}'],
    ['\u{F0000}', '_xDB80__xDC00_'],
    ['\x01', '_x0001_'],
    ['constructor', 'constructor'],
    ['toString', 'toString'],
    ['item', 'item']
  ]
  for (const [name, element] of cases) {
    t.equal(write({ [name]: 'v' }), `${declaration}<item><${element}>v</${element}></item>`)
    t.strictSame(parse(write({ [name]: 'v' })), { [name]: 'v' })
    const schema = { type: 'object', properties: { [name]: { type: 'integer' } } }
    t.strictSame(parse(write({ [name]: 1 }, schema), schema), { [name]: 1 })
  }
})

test('an undefined property is not written, and undefined in an array is null', async (t) => {
  t.equal(
    write({ a: undefined, b: [undefined], c: -0 }),
    declaration + '<item><b type="array"><item type="null"/></b><c type="number">0</c></item>'
  )
})

test('a value that does not match its schema is kept for validation to reject', async (t) => {
  const misfits: Array<[string, JsonSchema, unknown]> = [
    ['<a>forty</a>', { type: 'integer' }, 'forty'],
    ['<a/>', { type: 'integer' }, ''],
    ['<a>0x10</a>', { type: 'integer' }, '0x10'],
    ['<a>010</a>', { type: 'integer' }, '010'],
    ['<a>NaN</a>', { type: 'number' }, 'NaN'],
    ['<a>1.5</a>', { type: 'integer' }, 1.5],
    ['<a>yes</a>', { type: 'boolean' }, 'yes'],
    ['<a>null</a>', { type: 'null' }, 'null'],
    ['<a>x</a>', { type: 'array' }, 'x'],
    ['<a>x</a>', { type: 'object' }, 'x'],
    ['<a><b/></a>', { type: 'string' }, { b: '' }],
    ['<a><b/></a>', { type: 'integer' }, { b: '' }],
    ['<a type="string">1</a>', { type: 'integer' }, '1'],
    ['<a type="object"><item/></a>', { type: 'array' }, { item: '' }]
  ]
  for (const [content, schema, value] of misfits) {
    t.strictSame(parse(`<item>${content}</item>`, withProperty(schema)), { a: value }, content)
  }
})

test('documents of other XML writers are parsed', async (t) => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      n: { type: 'integer' },
      b: { type: 'boolean' },
      s: { type: 'string' },
      l: { type: 'array', items: { type: 'null' } },
      o: { type: 'object' }
    }
  }
  t.strictSame(
    parse(
      `\uFEFF<?xml version='1.0' encoding='utf-8' standalone="yes" ?>\r
<!-- a list of -->
<item >
  <n> 41\t</n><!-- - -->
  <b>
    true
  </b>
  <s>a<!-- b -->c<![CDATA[<d> & ]] >]]>&#101;&#x46;&lt;&gt;&amp;&quot;&apos;&#x1F600;\r\n</s>
  <l> <item/> <item></item> </l>
  <o> <!-- nothing --> </o>
</item
>
<!-- the end -->
`,
      schema
    ),
    { n: 41, b: true, s: 'ac<d> & ]] >eF<>&"\'\u{1F600}\n', l: [null, null], o: {} }
  )
  t.strictSame(parse('<?xml version="1.1"?><item><![CDATA[]]></item>'), {})
  t.strictSame(
    parse(
      '<item><a type = \'number\' >-0.5E+3</a><b escape="json">\\u0041\\\\</b><c type="string" escape="json"/></item>'
    ),
    { a: -500, b: 'A\\', c: '' }
  )
})

test('a list is <items>', async (t) => {
  const schema = withProperty({ type: 'integer' })
  const items = [{ a: 1 }, {}, { a: 3 }]
  const written = declaration + '<items><item><a>1</a></item><item/><item><a>3</a></item></items>'
  const links = { list: {}, items: [{}, {}, {}] }
  t.equal(xml.list(items, links, schema), written)
  t.equal(xml.list([], { list: {}, items: [] }, schema), declaration + '<items/>')
  t.strictSame(parse(written, { type: 'array', items: schema }), items)
  t.equal(xml.item(items, {}, { type: 'array', items: schema }), written)
  t.equal(xml.mediaType, 'application/xml')
})

test('describe() adds the element names for OpenAPI', async (t) => {
  const schema: JsonSchema = {
    type: 'object',
    xml: { attribute: true },
    required: ['plain'],
    properties: {
      plain: { type: 'string', enum: ['a'], xml: { name: 'other' } },
      'first name': { type: 'string' },
      tags: { type: ['array', 'null'], items: { type: 'string' } },
      'a b': { type: 'array', items: { type: 'array', items: true } },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, false], additionalItems: { $ref: '#/$defs/x' } },
      tuple: { type: 'array', items: [{ type: 'string' }] },
      any: true as unknown as JsonSchema
    },
    additionalProperties: { anyOf: [{ type: 'array' }, { type: 'null' }] },
    $defs: { x: { type: 'object', properties: { 'y z': {} }, additionalProperties: false } }
  }
  t.strictSame(xml.describe(schema), {
    type: 'object',
    required: ['plain'],
    properties: {
      plain: { type: 'string', enum: ['a'] },
      'first name': { type: 'string', xml: { name: 'first_x0020_name' } },
      tags: { type: ['array', 'null'], items: { type: 'string', xml: { name: 'item' } }, xml: { wrapped: true } },
      'a b': {
        type: 'array',
        items: { type: 'array', items: true, xml: { name: 'item', wrapped: true } },
        xml: { name: 'a_x0020_b', wrapped: true }
      },
      pair: {
        type: 'array',
        prefixItems: [{ type: 'string', xml: { name: 'item' } }, false],
        additionalItems: { $ref: '#/$defs/x', xml: { name: 'item' } },
        xml: { wrapped: true }
      },
      tuple: { type: 'array', items: [{ type: 'string', xml: { name: 'item' } }], xml: { wrapped: true } },
      any: true
    },
    additionalProperties: { anyOf: [{ type: 'array', xml: { wrapped: true } }, { type: 'null' }] },
    $defs: {
      x: { type: 'object', properties: { 'y z': { xml: { name: 'y_x0020_z' } } }, additionalProperties: false }
    },
    xml: { name: 'item' }
  })
  t.strictSame(xml.describe({ type: 'array', items: { type: 'object', default: {} } }), {
    type: 'array',
    items: { type: 'object', default: {}, xml: { name: 'item' } },
    xml: { name: 'items', wrapped: true }
  })
})

test('errors are reported with line and column', async (t) => {
  const side = 'an element cannot contain both text and elements.'
  const attribute = 'an element can have the attributes "type" and "escape" only.'
  const escape = 'the attribute "escape" can only be "json", and only on a string.'
  const reference = '"&" must be followed by one of the five entities or a character code.'
  const unexpected = 'Line 1, column 1: the XML declaration is malformed.'
  const cases: Array<[string | Buffer, string]> = [
    ['', 'The content is empty.'],
    ['\uFEFF', 'Line 1, column 1: an element was expected.'],
    [' \n ', 'Line 2, column 2: an element was expected.'],
    ['junk<item/>', 'Line 1, column 1: an element was expected.'],
    ['{"a":1}', 'Line 1, column 1: an element was expected.'],
    ['<item/>junk', 'Line 1, column 8: the end of the content was expected.'],
    ['<item/><item/>', 'Line 1, column 8: the end of the content was expected.'],
    ['<item/>&#32;', 'Line 1, column 8: the end of the content was expected.'],
    ['<user/>', 'Line 1, column 1: the root element <item> was expected.'],
    ['<items><user/></items>', 'Line 1, column 8: an array can contain <item> elements only.'],
    ['<item', 'Line 1, column 6: an attribute or the end of the tag was expected.'],
    ['<item>', 'Line 1, column 7: the content ends inside an element.'],
    ['<item><a></item>', 'Line 1, column 12: the end tag does not match the start tag.'],
    ['<item>\n  <a>1</b>\n</item>', 'Line 2, column 9: the end tag does not match the start tag.'],
    ['<item></items>', 'Line 1, column 9: the end tag does not match the start tag.'],
    ['<item></item', 'Line 1, column 9: the end tag does not match the start tag.'],
    ['< item/>', 'Line 1, column 2: the name of an element was expected.'],
    ['<item><1/></item>', 'Line 1, column 8: the name of an element was expected.'],
    ['<item><:a/></item>', 'Line 1, column 8: a name cannot have a prefix: namespaces are not supported.'],
    ['<x:item/>', 'Line 1, column 3: a name cannot have a prefix: namespaces are not supported.'],
    ['<item xmlns="urn:x"/>', `Line 1, column 6: ${attribute}`],
    ['<item xmlns:x="urn:x"/>', 'Line 1, column 12: a name cannot have a prefix: namespaces are not supported.'],
    ['<item __proto__="x"/>', `Line 1, column 6: ${attribute}`],
    ['<item type/>', 'Line 1, column 11: "=" was expected.'],
    ['<item type=object/>', 'Line 1, column 12: the value of an attribute was expected, in quotes.'],
    ['<item type="obj<"/>', 'Line 1, column 12: the value of an attribute was expected, in quotes.'],
    ['<item type="object" type="object"/>', 'Line 1, column 21: the attribute occurs more than once.'],
    ['<item type="object"escape="json"/>', 'Line 1, column 20: an attribute or the end of the tag was expected.'],
    ['<item type="integer"/>', 'Line 1, column 6: the type must be string, number, boolean, null, array or object.'],
    ['<item><a escape="base64"/></item>', `Line 1, column 9: ${escape}`],
    ['<item><a type="number" escape="json">1</a></item>', `Line 1, column 9: ${escape}`],
    [
      '<item><a escape="json"><b/></a></item>',
      'Line 1, column 24: an element of type "string" cannot contain elements.'
    ],
    ['<item><a escape="json">\\q</a></item>', 'Line 1, column 23: this is not escaped as in a JSON string.'],
    ['<item><a escape="json">a"b</a></item>', 'Line 1, column 23: this is not escaped as in a JSON string.'],
    ['<item><a escape="json">\\u0000</a></item>', 'Line 1, column 23: a string cannot contain U+0000.'],
    [
      '<item><a escape="json">\\ud800</a></item>',
      'Line 1, column 23: a string cannot contain half of a surrogate pair.'
    ],
    ['<item><a type="number">x</a></item>', 'Line 1, column 23: this is not of the type "number".'],
    ['<item><a type="null">x</a></item>', 'Line 1, column 21: this is not of the type "null".'],
    ['<item><a type="boolean"/></item>', 'Line 1, column 24: this is not of the type "boolean".'],
    [
      '<item><a type="number"><b/></a></item>',
      'Line 1, column 24: an element of type "number" cannot contain elements.'
    ],
    ['<item><a type="number">1e400</a></item>', 'Line 1, column 23: this number is too large for a double.'],
    [
      '<item><a type="number"> 9007199254740993 </a></item>',
      'Line 1, column 23: this number would be returned as 9007199254740992.'
    ],
    ['<item><a type="array"><b/></a></item>', 'Line 1, column 23: an array can contain <item> elements only.'],
    ['<item><a>1</a>\n<a>2</a></item>', 'Line 2, column 1: the member occurs more than once.'],
    ['<item><a/><_x0061_/></item>', 'Line 1, column 11: the member occurs more than once.'],
    ['<item>text<a/></item>', `Line 1, column 6: ${side}`],
    ['<item><a/>text</item>', `Line 1, column 11: ${side}`],
    ['<item><a/><![CDATA[text]]></item>', `Line 1, column 11: ${side}`],
    ['<item><__proto__/></item>', 'Line 1, column 7: a member cannot be named "__proto__".'],
    ['<item><_x005F__proto__/></item>', 'Line 1, column 7: a member cannot be named "__proto__".'],
    [
      '<item><constructor><prototype/></constructor></item>',
      'Line 1, column 20: a "constructor" cannot have a "prototype".'
    ],
    ['<item><_x0000_/></item>', 'Line 1, column 7: a string cannot contain U+0000.'],
    ['<item><_xD800_/></item>', 'Line 1, column 7: a string cannot contain half of a surrogate pair.'],
    ['<item>a & b</item>', `Line 1, column 9: ${reference}`],
    ['<item>\u{1F600}&nbsp;</item>', `Line 1, column 8: ${reference}`],
    ['<item>&amp</item>', `Line 1, column 7: ${reference}`],
    ['<item>&#0;</item>', `Line 1, column 7: ${reference}`],
    ['<item>&#xFFFF;</item>', `Line 1, column 7: ${reference}`],
    ['<item>&#xD83D;&#xDE00;</item>', `Line 1, column 7: ${reference}`],
    ['<item>&#x110000;</item>', `Line 1, column 7: ${reference}`],
    ['<item>&#-1;</item>', `Line 1, column 7: ${reference}`],
    ['<item>a]]>b</item>', 'Line 1, column 8: text cannot contain "]]>".'],
    ['<item><![CDATA[x</item>', 'Line 1, column 24: "]]>" is missing.'],
    ['<![CDATA[x]]><item/>', 'Line 1, column 1: a document type or other declaration is not allowed.'],
    ['<item><!-- a -- b --></item>', 'Line 1, column 14: a comment cannot contain "--".'],
    ['<item><!-- a ---></item>', 'Line 1, column 14: a comment cannot contain "--".'],
    ['<item><!--->', 'Line 1, column 13: "--" is missing.'],
    ['<item><?php x ?></item>', 'Line 1, column 7: a processing instruction is not allowed.'],
    ['<?xml-stylesheet href="x"?><item/>', 'Line 1, column 1: a processing instruction is not allowed.'],
    [' <?xml version="1.0"?><item/>', 'Line 1, column 2: a processing instruction is not allowed.'],
    ['<?xml?><item/>', unexpected],
    ['<?xml version="2.0"?><item/>', unexpected],
    ['<?xml encoding="UTF-8"?><item/>', unexpected],
    ['<?xml encoding="UTF-8" version="1.0"?><item/>', unexpected],
    ['<?xml version="1.0" standalone="maybe"?><item/>', unexpected],
    ['<?xml version="1.0"><item/>', unexpected],
    ['<?xml version="1.0" encoding="ISO-8859-1"?><item/>', 'Line 1, column 1: the encoding is not UTF-8.'],
    ['<item>\0</item>', 'Line 1, column 7: this character is not allowed in XML.'],
    ['<item>\r\n\x0B</item>', 'Line 2, column 1: this character is not allowed in XML.'],
    ['<item>\uFFFE</item>', 'Line 1, column 7: this character is not allowed in XML.'],
    ['\uFEFF\uFEFF<item/>', 'Line 1, column 1: an element was expected.'],
    [Buffer.from('<item>\r\n\u00E9\xE9</item>', 'latin1'), 'Line 2, column 1: the content is not UTF-8.'],
    [Buffer.from([0xef, 0xbb, 0xbf, 0x20, 0xc3, 0xa9, 0xff]), 'Line 1, column 3: the content is not UTF-8.'],
    [Buffer.from('\uFEFF<item/>', 'utf16le'), 'Line 1, column 1: the content is not UTF-8.']
  ]
  for (const [content, expected] of cases) t.equal(detail(content), expected, String(content))
  t.equal(detail('<item/>', { type: 'array' }), 'Line 1, column 1: the root element <items> was expected.')
  t.equal(
    detail('<item><a>1e400</a></item>', withProperty({ type: 'number' })),
    'Line 1, column 9: this number is too large for a double.'
  )
})

test('a lone surrogate is written without loss and rejected when it is read', async (t) => {
  t.equal(write({ a: '\uD800' }), declaration + '<item><a escape="json">\\ud800</a></item>')
})

test('a document type declaration is rejected, so that entities are never expanded', async (t) => {
  const laughs = Array.from({ length: 10 }, (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`).join(
    ''
  )
  const expected = 'Line 1, column 1: a document type or other declaration is not allowed.'
  t.equal(detail(`<!DOCTYPE item [<!ENTITY l0 "ha">${laughs}]><item>&l10;</item>`), expected)
  t.equal(detail('<!DOCTYPE item [<!ENTITY x SYSTEM "file:///etc/passwd">]><item>&x;</item>'), expected)
  t.equal(detail('<!DOCTYPE item SYSTEM "http://127.0.0.1/x.dtd"><item/>'), expected)
  t.equal(detail('<!doctype item><item/>'), expected)
  t.equal(
    detail('<?xml version="1.0"?><!DOCTYPE item [<!ENTITY % x "y">%x;]><item/>'),
    'Line 1, column 22: a document type or other declaration is not allowed.'
  )
})

test('nesting is limited to 64 levels of arrays and objects', async (t) => {
  const nested = (levels: number) => '<item>' + '<a>'.repeat(levels) + 'x' + '</a>'.repeat(levels) + '</item>'
  let value: unknown = 'x'
  for (let level = 0; level < 64; level++) value = { a: value }
  t.strictSame(parse(nested(64)), value)
  t.equal(detail(nested(65)), 'Line 1, column 199: the content is nested deeper than 64 levels.')
  t.equal(detail(nested(10_000)), 'Line 1, column 199: the content is nested deeper than 64 levels.')
  t.equal(detail('<item>'.repeat(100_000)), 'Line 1, column 391: the content is nested deeper than 64 levels.')
})

test('properties never reach a prototype', async (t) => {
  const read = parse('<item><constructor><x>1</x></constructor><hasOwnProperty/><prototype/></item>')
  t.strictSame(Object.entries(read as object), [
    ['constructor', { x: '1' }],
    ['hasOwnProperty', ''],
    ['prototype', '']
  ])
  t.equal(Object.getPrototypeOf(read), Object.prototype)
  t.notOk(Object.hasOwn(Object.prototype, 'x'))
  t.equal(detail(write(JSON.parse('{"__proto__":{"x":1}}'))), 'Line 2, column 7: a member cannot be named "__proto__".')
})

test('parsing time is proportional to the length of the content', async (t) => {
  const hostile = (length: number): string[] => {
    const long = 'a'.repeat(length)
    const spaces = ' '.repeat(length)
    return [
      `<item ${long}="${long}"/>`,
      `<item type="${long}"/>`,
      `<item type="${long}`,
      `<item${spaces}x`,
      `<${long}`,
      `<item><${long}></${long}></item>`,
      `<item><${long}></${long}x></item>`,
      `<item>${'<a/>'.repeat(length / 4)}</item>`,
      `<item type="array">${'<item/>'.repeat(length / 7)}</item>`,
      `<item>${Array.from({ length: length / 20 }, (_, index) => `<a${index}/>`).join('')}</item>`,
      `<item>${'<!---->'.repeat(length / 7)}</item>`,
      `<item>${'<!--'.repeat(length / 4)}</item>`,
      `<item>${'<![CDATA[]]>a'.repeat(length / 12)}</item>`,
      `<item>${'<![CDATA['.repeat(length / 9)}`,
      `<item>${'&#32;'.repeat(length / 5)}</item>`,
      `<item>&#${'9'.repeat(length)};</item>`,
      `<item>&${long}</item>`,
      `<item>${']'.repeat(length)}</item>`,
      `<item><n>1${spaces}x</n></item>`,
      `<item><n>${spaces}1${spaces}</n></item>`,
      `<item><n>${'1'.repeat(length)}x</n></item>`,
      `<item><n>1.${'0'.repeat(length)}1</n></item>`,
      `<item><n>1${'0'.repeat(length)}</n></item>`,
      `<item><b>${spaces}x</b></item>`,
      `<item><o>${spaces}x</o></item>`,
      `<item><a escape="json">${'\\u0001'.repeat(length / 6)}</a></item>`,
      `<item><${'_x0041'.repeat(length / 6)}/></item>`,
      `<?xml${spaces}version${spaces}=${spaces}"1.0"${spaces}x?>`,
      `${spaces}${spaces}x`,
      '\r'.repeat(length)
    ]
  }
  const schema: JsonSchema = {
    type: 'object',
    properties: { n: { type: 'number' }, b: { type: 'boolean' }, o: { type: 'object' } }
  }
  const [short, long] = [hostile(60_000), hostile(240_000)]
  for (const [index, content] of long.entries()) {
    t.ok(await isProportional((size) => detail(size === 1 ? short[index]! : content, schema), 1), content.slice(0, 20))
    const outcome = detail(content, schema)
    if (!outcome.startsWith('read')) t.ok(outcome.length < 200, 'the content is not echoed')
  }
})

/** Any text that application/json can contain too. */
const text = fc
  .oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'_x0041&<>\r\n\t ]"\'\\:-.\x01\uFFFE') })
  )
  .map((string) => string.replaceAll('\0', ''))
const name = text.filter((string) => string !== '__proto__' && string !== 'prototype')
const double = fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0)

const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    double,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true })
  )
})).value

interface Model {
  readonly schema: JsonSchema
  readonly value: fc.Arbitrary<unknown>
}

const anyModel: fc.Arbitrary<Model> = fc.letrec<{ model: Model }>((tie) => ({
  model: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Model>(
      { schema: { type: 'string' }, value: text },
      { schema: { type: 'number' }, value: double },
      { schema: { type: 'integer' }, value: fc.maxSafeInteger() },
      { schema: { type: 'boolean' }, value: fc.boolean() },
      { schema: { type: 'null' }, value: fc.constant(null) },
      { schema: { type: ['integer', 'null'] }, value: fc.option(fc.maxSafeInteger()) },
      { schema: { enum: [1, 'a', null] }, value: fc.constantFrom(1, 'a', null) },
      { schema: {}, value: anyValue }
    ),
    tie('model').map(({ schema, value }) => ({
      schema: { type: 'array', items: schema },
      value: fc.array(value, { maxLength: 4 })
    })),
    fc.array(tie('model'), { maxLength: 3 }).map((models) => ({
      schema: { type: 'array', prefixItems: models.map((model) => model.schema) },
      value: fc.tuple(...models.map((model) => model.value))
    })),
    fc.array(tie('model'), { minLength: 1, maxLength: 3 }).map((models) => ({
      schema: { anyOf: models.map((model) => model.schema) },
      value: fc.oneof(...models.map((model) => model.value))
    })),
    fc.dictionary(name, tie('model'), { maxKeys: 4, noNullPrototype: true }).map((models) => ({
      schema: {
        type: 'object',
        properties: Object.fromEntries(Object.entries(models).map(([name, model]) => [name, model.schema]))
      },
      value: fc.record(Object.fromEntries(Object.entries(models).map(([name, model]) => [name, model.value])), {
        requiredKeys: [],
        noNullPrototype: true
      })
    }))
  )
})).model

test('every value of every schema is read back unchanged', async () => {
  const valid = anyModel.chain(({ schema, value }) => fc.tuple(fc.constant(withProperty(schema)), value))
  fc.assert(
    fc.property(valid, ([schema, value]) => {
      assert.deepStrictEqual(parse(write({ a: value }, schema), schema), { a: value })
    }),
    { numRuns: 1000 }
  )
})

test('every value is read back unchanged, even if its schema forbids it', async () => {
  fc.assert(
    fc.property(anyModel, anyValue, ({ schema }, value) => {
      assert.deepStrictEqual(parse(write({ a: value }, withProperty(schema)), withProperty(schema)), { a: value })
    }),
    { numRuns: 1000 }
  )
})

test('random bytes and damaged documents are parsed or throw Malformed', async (t) => {
  const whole = Buffer.from(write({ a: '\u{1F600}&\x01', b: [1, null, { 'c d': true }], d: { e: -1.5 } }))
  const edit = fc.record({
    at: fc.nat(whole.length),
    cut: fc.nat(4),
    put: fc.oneof(
      fc.uint8Array({ maxLength: 3 }),
      fc
        .constantFrom('<', '>', '/', '&', '"', '<!--', '-->', '<![CDATA[', ']]>', '<?', '<a>', '</a>', ' type="x"')
        .map((string) => Buffer.from(string))
    )
  })
  const outcomes = { read: 0, refused: 0 }
  const look = (content: Buffer) => {
    if (detail(content).startsWith('read')) outcomes.read++
    else outcomes.refused++
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => look(Buffer.from(bytes))),
    { numRuns: 1000 }
  )
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
      let content = whole
      for (const { at, cut, put } of edits) {
        content = Buffer.concat([content.subarray(0, at), put, content.subarray(at + cut)])
      }
      look(content)
    }),
    { numRuns: 3000 }
  )
  t.ok(outcomes.read > 0 && outcomes.refused > 0, JSON.stringify(outcomes))
})

// Diagrams as SVG, from a description in text. They follow the color scheme of the reader.

const style = `
    .ground { fill: #fff } .box { fill: #eef; stroke: #446 } .line { stroke: #555; fill: none } .head { fill: #555 }
    text { fill: #111 } .small { fill: #444; font-size: 13px } .refused { fill: #b00020 } .refusal { stroke: #b00020 }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #17181c } .box { fill: #26283a; stroke: #99c } .line { stroke: #bbb } .head { fill: #bbb }
      text { fill: #eee } .small { fill: #bbb } .refused { fill: #ff8a8a } .refusal { stroke: #ff8a8a }
    }`

interface Drawing {
  readonly title: string
  readonly width: number
  readonly height: number
  readonly parts: readonly string[]
}

function draw ({ title, width, height, parts }: Drawing): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="15">
  <title>${escape(title)}</title>
  <style>${style}
  </style>
  <defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" orient="auto-start-reverse"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>
  <rect class="ground" width="${width}" height="${height}" rx="8"/>
${parts.map((part) => `  ${part}`).join('\n')}
</svg>
`
}

function escape (text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

interface Place {
  readonly x: number
  readonly y: number
}

function write (text: string, { x, y }: Place, { anchor = 'middle', kind = '' } = {}): string {
  const look = kind === '' ? '' : ` class="${kind}"`
  return `<text${look} x="${x}" y="${y}" text-anchor="${anchor}">${escape(text)}</text>`
}

interface Box extends Place {
  readonly width: number
  readonly lines: readonly [string, ...string[]]
}

/** A box with a heading and small lines, by its upper left corner. */
function box ({ x, y, width, lines: [heading, ...lines] }: Box): string[] {
  const middle = x + width / 2
  return [
    `<rect class="box" x="${x}" y="${y}" width="${width}" height="${getHeight(lines.length)}" rx="6"/>`,
    write(heading, { x: middle, y: y + 25 }),
    ...lines.map((line, index) => write(line, { x: middle, y: y + 46 + index * 18 }, { kind: 'small' }))
  ]
}

function getHeight (lines: number): number {
  return 40 + lines * 18
}

function arrow (path: string, { isRefusal = false, both = false } = {}): string {
  const start = both ? ' marker-start="url(#head)"' : ''
  return `<path class="line${isRefusal ? ' refusal' : ''}" d="${path}" stroke-width="1.5" marker-end="url(#head)"${start}/>`
}

/** Messages between participants, from top to bottom: `from`, `to`, text. */
function drawSequence (
  title: string,
  names: readonly string[],
  messages: ReadonlyArray<readonly [string, string, string]>
): string {
  const height = 84 + messages.length * 42
  const getX = (name: string) => 110 + names.indexOf(name) * 290
  return draw({
    title,
    width: 220 + (names.length - 1) * 290,
    height,
    parts: [
      ...names.flatMap((name) => [
        `<path class="line" d="M${getX(name)} 66V${height - 20}" stroke-dasharray="4 4"/>`,
        ...box({ x: getX(name) - 60, y: 26, width: 120, lines: [name] })
      ]),
      ...messages.flatMap(([from, to, text], index) => {
        const y = 110 + index * 42
        const isRefusal = text.startsWith('412')
        const middle = (getX(from) + getX(to)) / 2
        return [
          arrow(`M${getX(from)} ${y}H${getX(to) + (getX(to) > getX(from) ? -2 : 2)}`, { isRefusal }),
          write(text, { x: middle, y: y - 8 }, { kind: isRefusal ? 'refused' : '' })
        ]
      })
    ]
  })
}

/** Steps from top to bottom, each with the statuses that can end it. */
function drawSteps (title: string, steps: ReadonlyArray<readonly [string, string, string]>): string {
  const step = 84
  return draw({
    title,
    width: 800,
    height: 40 + steps.length * step,
    parts: steps.flatMap(([heading, text, statuses], index) => {
      const y = 20 + index * step
      return [
        ...box({ x: 30, y, width: 480, lines: [heading, text] }),
        ...index === steps.length - 1 ? [] : [arrow(`M270 ${y + 58}V${y + step - 2}`)],
        ...statuses === ''
          ? []
          : [arrow(`M510 ${y + 29}H568`, { isRefusal: true }), write(statuses, { x: 580, y: y + 34 }, { anchor: 'start', kind: 'refused' })]
      ]
    })
  })
}

function drawEngine (): string {
  const doors = [
    ['HTTP', 'routes of Fastify:', 'requests and responses'],
    ['code', 'app.collection(orders)', '.update(id, patch)'],
    ['batch', 'several operations in', 'one request']
  ] as const
  return draw({
    title: 'One engine behind three doors',
    width: 800,
    height: 440,
    parts: [
      ...doors.flatMap((lines, index) => {
        const x = 30 + index * 260
        return [...box({ x, y: 20, width: 220, lines }), arrow(`M${x + 110} 98V158`, { both: true })]
      }),
      write('access rules, then an operation', { x: 270, y: 132 }, { kind: 'small' }),
      write('an outcome or a problem', { x: 530, y: 132 }, { kind: 'small' }),
      ...box({
        x: 30,
        y: 160,
        width: 740,
        lines: [
          'engine',
          'layers of features: timeout, idempotency, soft delete, ...',
          'find, check preconditions, parse, validate, hooks, write; again if another write came first'
        ]
      }),
      arrow('M400 238V298', { both: true }),
      ...box({ x: 30, y: 300, width: 740, lines: ['storage contract', 'find, list, insert, replace, remove, transaction'] }),
      ...['memory', 'SQLite', 'PostgreSQL', 'MySQL, MariaDB'].flatMap((name, index) =>
        box({ x: 30 + index * 190, y: 380, width: 170, lines: [name] }))
    ]
  })
}

/** By the name of the file in docs/. */
export const diagrams: Readonly<Record<string, string>> = {
  'lost-update.svg': drawSequence('Two editors change the same item', ['Ada', 'service', 'Bob'], [
    ['Ada', 'service', 'GET /books/7'],
    ['service', 'Ada', '200, ETag: "v1"'],
    ['Bob', 'service', 'GET /books/7'],
    ['service', 'Bob', '200, ETag: "v1"'],
    ['Ada', 'service', 'PATCH, If-Match: "v1"'],
    ['service', 'Ada', '200, ETag: "v2"'],
    ['Bob', 'service', 'PATCH, If-Match: "v1"'],
    ['service', 'Bob', '412: nothing is changed'],
    ['Bob', 'service', 'GET, decide, PATCH, If-Match: "v2"'],
    ['service', 'Bob', '200, ETag: "v3"']
  ]),
  'request.svg': drawSteps('The life of a request', [
    ['route', 'is the method served here?', '405'],
    ['access', 'who is the caller, and what may it do?', '401 403 404'],
    ['headers', 'Accept, Content-Type, Content-Length', '406 415 413'],
    ['find', 'read the item', '404 410 301'],
    ['preconditions', 'If-Match, If-None-Match, before the content is parsed', '412 428 304'],
    ['content', 'parse it, and apply the patch', '400 422'],
    ['validation', 'defaults, hooks.beforeValidation, schema, scope', '422'],
    ['write', 'one transaction with hooks; again if another write came first', '409'],
    ['response', 'status, ETag, Location, Link, Cache-Control, content', '']
  ]),
  'engine.svg': drawEngine()
}

/** Text that is HTML already. */
export class Markup {
  readonly text: string

  constructor (text: string) {
    this.text = text
  }
}

type Part = string | number | false | undefined | Markup | readonly Part[]

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** Escapes text for an element or a quoted attribute. */
export function escapeHtml (text: string): string {
  return text.replace(/[&<>"']/g, (character) => references[character]!)
}

/** A template tag that escapes every part that is not markup itself. */
export function markup (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.reduce((text, string, index) => text + renderPart(parts[index - 1]) + string))
}

function renderPart (part: Part): string {
  if (part instanceof Markup) return part.text
  if (typeof part === 'string') return escapeHtml(part)
  if (typeof part === 'number') return String(part)
  return part === undefined || part === false ? '' : part.map(renderPart).join('')
}

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** Renders attributes, each with a leading space. `true` has no value; `false` and undefined are left out. */
export function renderAttributes (attributes: Attributes): Markup {
  const rendered = Object.entries(attributes).map(([name, value]) => {
    if (value === undefined || value === false) return ''
    return value === true ? ` ${name}` : ` ${name}="${escapeHtml(String(value))}"`
  })
  return new Markup(rendered.join(''))
}

const safeSchemes = new Set(['http:', 'https:', 'mailto:'])
const base = 'http://localhost'

/** Returns the URI if it is safe to follow; undefined if it would run a script or open something other than a page. */
export function getSafeHref (href: string): string | undefined {
  // Parsed as a browser does, which ignores line breaks in a scheme.
  return URL.canParse(href, base) && safeSchemes.has(new URL(href, base).protocol) ? href : undefined
}

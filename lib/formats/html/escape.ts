/** Text that is HTML already. */
export class Markup {
  readonly text: string

  constructor (text: string) {
    this.text = text
  }
}

export type Part = string | number | false | undefined | Markup | readonly Part[]

const characters: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Safe between tags, and between the quotation marks of an attribute. */
export function escape (text: string): string {
  return text.replace(/[&<>"']/g, character => characters[character]!)
}

/** HTML in which every part is escaped that is not HTML itself. */
export function markup (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.reduce((text, string, index) => text + written(parts[index - 1]) + string))
}

function written (part: Part): string {
  if (part instanceof Markup) return part.text
  if (typeof part === 'string') return escape(part)
  if (typeof part === 'number') return String(part)
  return part === undefined || part === false ? '' : part.map(written).join('')
}

/** Each with a space in front; `true` stands without a value, and `false` and undefined not at all. */
export function attributes (values: Readonly<Record<string, string | number | boolean | undefined>>): Markup {
  const present = Object.entries(values).filter(([, value]) => value !== undefined && value !== false)
  return new Markup(present.map(([name, value]) => value === true ? ` ${name}` : ` ${name}="${escape(String(value))}"`).join(''))
}

const schemes = new Set(['http:', 'https:', 'mailto:'])

/** A URI that is safe to follow; undefined for one that would run as a script or open something else than a page. */
export function followed (href: string): string | undefined {
  // Read as a browser does, which passes over line breaks in a scheme.
  return URL.canParse(href, base) && schemes.has(new URL(href, base).protocol) ? href : undefined
}

const base = 'http://localhost'

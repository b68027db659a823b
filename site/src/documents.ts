import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { base, repository } from './address.ts'

// The pages of the site are Markdown files of the repository: README.md, docs/*.md, and the README.md of each starter;
// and those of the types, which `generate-types.ts` writes.

/** The site is built in its own folder, and the files are in the one above. */
const root = join(process.cwd(), '..')

export interface Document {
  /** The path in the repository. */
  readonly file: string
  /** The path in the site, without slashes at its ends. */
  readonly slug: string
  readonly title: string
  /** The first sentence or paragraph. */
  readonly description: string
  /** The Markdown after the title. */
  readonly text: string
}

export interface Group {
  readonly label: string
  readonly pages: ReadonlyArray<{ readonly slug: string, readonly purpose: string }>
}

export const pageFiles: readonly string[] = [
  'README.md',
  ...list('docs').filter((file) => file.endsWith('.md')),
  ...list('examples').map((folder) => `${folder}/README.md`).filter((file) => existsSync(join(root, file))),
  ...list('site/.types')
]

/** Pictures, by their name. */
export const pictures: readonly string[] = list('docs').filter((file) => /\.(png|svg)$/.test(file))

function list (folder: string): string[] {
  return readdirSync(join(root, folder)).sort().map((name) => `${folder}/${name}`)
}

export function readFile (file: string): Buffer {
  return readFileSync(join(root, file))
}

export function readPage (file: string): Document {
  const [, title, text] = /^# (.*)\n([^]*)$/.exec(readFile(file).toString())!
  const [paragraph = ''] = text!.trim().split(/\n\n|\n(?=[A-Z])/, 1)
  return { file, slug: toSlug(file), title: title!, description: toPlainText(paragraph), text: text! }
}

function toSlug (file: string): string {
  if (file === 'README.md') return 'index'
  if (file === 'docs/README.md') return 'documentation'
  return file.replace(/^docs\//, '').replace('site/.types', 'types').replace(/(\/README)?\.md$/, '')
}

function toPlainText (markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '').replace(/\s+/g, ' ')
}

/** The four groups of docs/README.md, which is the sidebar as well. */
export const groups: readonly Group[] = readPage('docs/README.md').text
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    label: section.slice(0, section.indexOf('\n')),
    pages: [...section.matchAll(/^\| \[[^\]]*\]\(([\w-]+\.md)\) \| (.*) \|$/gm)]
      .map(([, file = '', purpose = '']) => ({ slug: toSlug(`docs/${file}`), purpose: toPlainText(purpose) }))
  }))

/** The path of a page in the site. */
export function toPath (slug: string): string {
  return slug === 'index' ? base : `${base}${slug}/`
}

/** The path of the Markdown of a page, which is next to it. */
export function toMarkdownPath (slug: string): string {
  return `${base}${slug}.md`
}

/**
 * Replaces the targets of links, which are files of the repository, by their paths in the site. Files that the site
 * does not have are linked in the repository or, if its address is unknown, not at all.
 */
export function resolveLinks ({ file, text }: Document, toPagePath: (slug: string) => string): string {
  return outsideOfCode(text, (prose) =>
    prose.replace(/(!?)\[((?:[^\]`]|`[^`]*`)*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g, (_, image, label, target, anchor = '') => {
      const path = normalize(join(file, '..', target))
      if (pageFiles.includes(path)) return `[${label}](${toPagePath(toSlug(path))}${anchor})`
      if (pictures.includes(path)) return `${image}[${label}](${base}images/${path.replace('docs/', '')})`
      return repository === undefined ? label : `[${label}](${repository}/blob/main/${path})`
    })
  )
}

function outsideOfCode (text: string, change: (prose: string) => string): string {
  return text.split(/(^```[^]*?^```$)/m).map((part, index) => index % 2 === 0 ? change(part) : part).join('')
}

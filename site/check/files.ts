import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the built site. */
export const folder = fileURLToPath(new URL('../dist/', import.meta.url))

/** The path of the site on its host, as in src/address.ts. */
export const base = `/${(process.env['SITE_BASE'] ?? '').replace(/^\/+|\/+$/g, '')}/`.replace('//', '/')

/** The files of the built site, by their path from its root. */
export const files: ReadonlySet<string> = new Set(
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
)

export const pages: readonly string[] = [...files].filter((file) => file.endsWith('.html')).sort()

export function readText (file: string): string {
  return readFileSync(join(folder, file), 'utf8')
}

/** The file that a host sends for a path, or undefined if there is none. */
export function findFile (path: string): string | undefined {
  if (!path.startsWith(base)) return undefined
  const file = decodeURIComponent(path.slice(base.length))
  return [file === '' || file.endsWith('/') ? `${file}index.html` : file].find((name) => files.has(name))
}

/** The path of a page. */
export function toPath (page: string): string {
  return base + page.replace(/(^|\/)index\.html$/, '$1')
}

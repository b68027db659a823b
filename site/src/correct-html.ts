import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AstroIntegration } from 'astro'

/** Corrects what the Nu HTML checker and axe report about the markup of Astro, Starlight and Markdown tables. */
export function correctHtml (): AstroIntegration {
  return {
    name: 'correct-html',
    hooks: {
      async 'astro:build:done' ({ dir }) {
        const folder = fileURLToPath(dir)
        const names = await readdir(folder, { recursive: true })
        await Promise.all(names.filter((name) => name.endsWith('.html')).map(async (name) => {
          const file = join(folder, name)
          await writeFile(file, correct(await readFile(file, 'utf8')))
        }))
      }
    }
  }
}

function correct (html: string): string {
  return html
    .replace(/<(meta|link|img|input|br|hr)\b([^>]*?)\s*\/>/g, '<$1$2>')
    .replaceAll('<script aria-hidden="true">', '<script>')
    .replaceAll('<th></th>', '<td></td>')
}

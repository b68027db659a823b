import { base, files, findFile, pages, readText, toPath } from './files.ts'

/** Returns links within the site that have no target. Links to other sites are not followed. */
export function checkLinks (): string[] {
  return [...checkPages(), ...checkMarkdown()]
}

function checkPages (): string[] {
  const ids = new Map(pages.map((page) => [page, getValues(readText(page), 'id')]))
  return pages.flatMap((page) => {
    const targets = [...getValues(readText(page), 'href'), ...getValues(readText(page), 'src')]
    return [...targets].filter(isInternal).flatMap((target) => {
      const { pathname, hash } = new URL(target, `http://site${toPath(page)}`)
      const file = findFile(pathname)
      if (file === undefined) return `${page}: ${target} does not exist`
      const missing = hash !== '' && !ids.get(file)?.has(decodeURIComponent(hash.slice(1)))
      return missing ? `${page}: ${target} has no such heading` : []
    })
  })
}

/** The Markdown next to each page, and llms.txt. */
function checkMarkdown (): string[] {
  const missing = pages
    .filter((page) => page !== '404.html' && !files.has(page.replace(/\/?index\.html$/, '.md').replace(/^\.md$/, 'index.md')))
    .map((page) => `${page}: there is no Markdown next to it`)
  const broken = [...files].filter((file) => file.endsWith('.md') || file === 'llms.txt').flatMap((file) =>
    [...readText(file).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => isInternal(target) && !target.startsWith('#'))
      .filter((target) => findFile(new URL(target, `http://site${base}${file}`).pathname) === undefined)
      .map((target) => `${file}: ${target} does not exist`)
  )
  return [...missing, ...broken]
}

function isInternal (target: string): boolean {
  return !/^[a-z]+:/.test(target)
}

function getValues (html: string, attribute: string): Set<string> {
  return new Set([...html.matchAll(new RegExp(`<[^>]*\\s${attribute}="([^"]*)"`, 'g'))]
    .map(([, value = '']) => value.replaceAll('&#38;', '&').replaceAll('&amp;', '&')))
}

import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// With `--import`, tests run the package instead of lib/: PACKED names the folder of the unpacked package, and what a
// test imports from lib/ has to be an entry of it.

const { PACKED = '' } = process.env
const root = new URL('..', import.meta.url)
const lib = new URL('lib/', root).href
const { exports } = JSON.parse(readFileSync(join(PACKED, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { default: string }>
}

/** The files of the package, by their sources. */
const entries = new Map(Object.values(exports).flatMap((target) => {
  if (typeof target === 'string') return []
  const source = target.default.replace(/^\.\/dist\/(.*)\.js$/, 'lib/$1.ts')
  return [[new URL(source, root).href, pathToFileURL(join(PACKED, target.default)).href]]
}))

registerHooks({
  resolve (specifier, context, next) {
    const resolved = next(specifier, context)
    if (!resolved.url.startsWith(lib)) return resolved
    const url = entries.get(resolved.url)
    if (url !== undefined) return { ...resolved, url, format: 'module' }
    throw new Error(`${context.parentURL} imports ${specifier}, which is no entry of the package.`)
  }
})

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './example.ts'
import { composeProgram, getPrinted, parseBlocks } from './programs.ts'
import type { Block } from './programs.ts'

// The pages of the documentation, and their programs: `npm run types` checks the types of each, and test/docs.test.ts
// runs it.

export const pages = [
  'README.md',
  'skills/fastify-collections/SKILL.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
]
export const text = (page: string): string => readFileSync(join(root, page), 'utf8')

interface PageBlock extends Block {
  readonly page: string
}

export const blocks: readonly PageBlock[] = pages.flatMap((page) =>
  parseBlocks(text(page)).map((block) => ({ ...block, page }))
)

export interface Program extends PageBlock {
  readonly file: string
  /** What it prints, if the page says so. */
  readonly printed: ReadonlyArray<string | undefined>
}

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { default: string }>
}

/** Replaces imports of the package by its source files, for a program in a folder. */
export function resolveImports (code: string, folder: string): string {
  return code.replace(
    /(from |require\()'fastify-collections(\/[\w-]+)?'/g,
    (specifier: string, before: string, path = '') => {
      const target = exports[`.${path}`]
      // Other specifiers are not replaced, and fail to resolve.
      return typeof target !== 'object'
        ? specifier
        : `${before}'${relative(folder, join(root, target.default.replace(/^\.\/dist\/(.*)\.js$/, 'lib/$1.ts')))}'`
    }
  )
}

const { devDependencies } = JSON.parse(readFileSync(join(root, 'test/all/package.json'), 'utf8')) as {
  devDependencies: Record<string, string>
}

/** Whether a program imports a package that only `npm run test:all` installs. */
export function needsTestAll ({ code }: { readonly code: string }): boolean {
  return Object.keys(devDependencies).some((name) => code.includes(`from '${name}`))
}

/** Returns the programs of all pages, with the files that they are to be written to. */
export function composePrograms (folder: string): Program[] {
  return blocks.filter(({ language }) => language === 'ts' || language === 'js').map((block) => {
    const extension = block.language === 'js' ? 'cjs' : 'ts'
    const file = join(folder, `${block.page.replace(/\W+/g, '-')}-${block.line}.${extension}`)
    const code = resolveImports(composeProgram(block, blocks.filter(({ page }) => page === block.page)), folder)
    // A block that continues another one prints the output of both.
    const printed = getPrinted(block.code).length === 0 ? [] : getPrinted(code)
    return { ...block, file, code: code.replace('port: 3000', 'port: 0'), printed }
  })
}

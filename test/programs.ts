// The programs in a page of the documentation. One that imports the library stands alone; any other continues the
// first program of its page.

export interface Block {
  readonly line: number
  readonly language: string
  readonly code: string
  /** The file that the text before the block names, such as `server.ts`. */
  readonly file: string | undefined
}

/** Returns the blocks of code in a page. */
export function parseBlocks (markdown: string): Block[] {
  return [...markdown.matchAll(/(?:`([\w./-]+\.(?:ts|js|json))`[^\n`]*\n\n)?^```(\w*)\n(.*?)^```$/gms)].map((match) => {
    const [whole, file, language = '', code = ''] = match
    const start = match.index + whole.indexOf('```')
    return { line: markdown.slice(0, start).split('\n').length, language, code, file }
  })
}

/** Returns a complete program: the block, with the first one of the page in front of it if it continues that one. */
export function composeProgram (block: Block, page: readonly Block[]): string {
  const first = page.find(({ language }) => language === 'ts')
  if (block.language === 'js' || block === first || !first) return block.code
  if (/^import .* from 'fastify-collections/m.test(block.code)) return block.code
  const imports = block.code.match(/^import .*\n/gm)?.join('') ?? ''
  return `${imports}${first.code}\n{\n${block.code.replace(/^import .*\n/gm, '')}}\nexport {}\n`
}

/** Returns the output that a program documents in comments. */
export function getPrinted (code: string): Array<string | undefined> {
  return [...code.matchAll(/^\s*.*console\.log\(.*\)+ \/\/ (.*)$/gm)].map((match) => match[1])
}

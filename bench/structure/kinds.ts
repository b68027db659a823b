import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the kinds of actions are told apart: the table of the ways to call a collection, and what it consists of. */
const table: ReadonlySet<string> = new Set(['engine/table.ts', 'engine/action-info.ts'])

/** Conditions on the kind of an action, in any form of words: by its members, its name, its key or what it takes. */
const conditions: readonly RegExp[] = [
  /\b(?:custom|bulk|aggregate|isAggregate|isQuery|isGet)(?:\?\.\w+)?\s*(?:[!=]==|\?(?![.:])|&&|\|\|)/g,
  /!(?:custom|bulk|aggregate|isAggregate|isQuery|isGet)\b/g,
  /\b(?:action|info|operation|custom|bulk)\??\.(?:name|key|at|takes|query)\s*[!=]==/g,
  /\b(?:takes|key|name)\s*[!=]==\s*'(?:representation|patch|bulkPatch|query|input|parameters|list|create|read|replace|update|remove)'/g,
  /\bquery\s*[!=]==\s*'(?:list|item|groups)'/g,
  /\btakes\s*[!=]==\s*undefined/g
]

/** Counts the conditions on the kind of an action outside the table. */
export function findKindConditions (root: string, files: readonly string[]): string[] {
  return files.filter((file) => !table.has(file)).flatMap((file) => {
    const lines = readFileSync(join(root, 'lib', file), 'utf8').split('\n')
    return lines.flatMap((line, index) => {
      const code = line.replace(/\/\/.*|^\s*\*.*|'[^']* [^']*'/g, '')
      const count = conditions.reduce((sum, pattern) => sum + (code.match(pattern)?.length ?? 0), 0)
      return Array<string>(count).fill(`${file}:${index + 1} ${line.trim()}`)
    })
  })
}

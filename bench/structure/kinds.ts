import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where actions of different kinds may be told apart: the table of the ways to call a collection, and its type. */
const table: ReadonlySet<string> = new Set(['engine/table.ts', 'engine/action-info.ts'])

/** Conditions on the kind of an action, in any form of words: by its members, its name, its key or what it takes. */
const conditions: readonly RegExp[] = [
  /\b(?:custom|bulk|isAggregate|isQuery|isGet)(?:\?\.\w+)?\s*(?:[!=]==|\?(?![.:])|&&|\|\|)/,
  /\baggregate\s*[!=]== undefined/,
  /\b(?:action|info|operation|custom|bulk)\??\.(?:name|key|takes|query)\s*[!=]==/,
  /\b(?:takes|key|name)\s*[!=]==\s*'(?:list|create|read|replace|update|remove)'/,
  /\btakes\s*[!=]==\s*(?:undefined|'(?:representation|patch|bulkPatch|query|input|parameters)')/,
  /\bquery\s*[!=]==\s*'(?:list|item|groups)'/
]

/** Returns the lines outside the table that have such a condition. */
export function findKindConditions (root: string, files: readonly string[]): string[] {
  const outside = files.filter((file) => !table.has(file) && !/^(?:client|formats|storage)\//.test(file))
  return outside.flatMap((file) => {
    const lines = readFileSync(join(root, 'lib', file), 'utf8').split('\n')
    return lines
      .map((line, index) => `${file}:${index + 1} ${line.trim()}`)
      .filter((_, index) => conditions.some((condition) => condition.test(lines[index]!)))
  })
}

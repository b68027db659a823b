import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

interface Import {
  readonly from: string
  readonly to: string
  readonly names: readonly string[]
}

/** The files of lib/ and what they import of each other, types included. */
export interface Imports {
  readonly files: readonly string[]
  readonly lines: number
  readonly imports: readonly Import[]
}

export function readImports (root: string): Imports {
  const folder = join(root, 'lib')
  const files = globSync('**/*.ts', { cwd: folder }).sort()
  let lines = 0
  const imports = files.flatMap((from) => {
    const text = readFileSync(join(folder, from), 'utf8')
    lines += text.split('\n').length - 1
    return ts.createSourceFile(from, text, ts.ScriptTarget.Latest).statements.flatMap((statement): Import[] => {
      if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return []
      const { moduleSpecifier } = statement
      if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return []
      if (!moduleSpecifier.text.startsWith('.')) return []
      return [{ from, to: join(dirname(from), moduleSpecifier.text), names: getNames(statement) }]
    })
  })
  return { files, lines, imports }
}

function getNames (statement: ts.ImportDeclaration | ts.ExportDeclaration): string[] {
  const bindings = ts.isImportDeclaration(statement) ? statement.importClause?.namedBindings : statement.exportClause
  if (bindings === undefined || !('elements' in bindings)) return []
  return bindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
}

/** Counts the files that import something of this name from another one. */
export function countImporters ({ imports }: Imports, name: string): number {
  return new Set(imports.filter(({ names }) => names.includes(name)).map(({ from }) => from)).size
}

/** Returns the sets of files that import each other in a circle, the largest first (Tarjan's algorithm). */
export function findTypeCircles ({ files, imports }: Imports): string[][] {
  const targets = new Map<string, string[]>(files.map((file) => [file, []]))
  for (const { from, to } of imports) targets.get(from)!.push(to)
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (file: string): number => {
    const index = order.size
    order.set(file, index)
    lowest.set(file, index)
    stack.push(file)
    for (const to of targets.get(file) ?? []) {
      const reached = order.has(to) ? stack.includes(to) ? order.get(to)! : Infinity : visit(to)
      lowest.set(file, Math.min(lowest.get(file)!, reached))
    }
    if (lowest.get(file) === index) {
      const circle = stack.splice(stack.indexOf(file))
      if (circle.length > 1) circles.push(circle)
    }
    return lowest.get(file)!
  }
  for (const file of files) if (!order.has(file)) visit(file)
  return circles.sort((a, b) => b.length - a.length)
}

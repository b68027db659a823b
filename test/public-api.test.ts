import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript'

// Editors show the JSDoc of what a package exports. Everything that is exported has a description, functions and
// options have an example, and optional options have a default.

const root = fileURLToPath(new URL('..', import.meta.url))
const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Record<string, unknown> }
const entryPoints = Object.values(exports).flatMap((target) => {
  const source = (Object(target) as Record<string, unknown>)['fastify-collections-source']
  return typeof source === 'string' ? [root + source.slice('./'.length)] : []
})
const options: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ESNext,
  allowImportingTsExtensions: true,
  noEmit: true,
  noLib: true,
  types: []
}
// Only the files of the library: names and comments do not depend on the types of packages, which take long to read.
const host: ts.CompilerHost = {
  ...ts.createCompilerHost(options),
  resolveModuleNameLiterals: (names, file) => names.map(({ text }) => ({
    resolvedModule: text.startsWith('.')
      ? { resolvedFileName: resolve(dirname(file), text), extension: ts.Extension.Ts }
      : undefined
  }))
}
const program = ts.createProgram(entryPoints, options, host)
const checker = program.getTypeChecker()

function getExports (file: string): ts.Symbol[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
  return checker.getExportsOfModule(module).map((symbol) => {
    return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  })
}

function hasDescription (symbol: ts.Symbol): boolean {
  return symbol.getDocumentationComment(checker).length > 0
}

function hasTag (symbol: ts.Symbol, name: string): boolean {
  return symbol.getJsDocTags().some((tag) => tag.name === name)
}

function isOwn (symbol: ts.Symbol): boolean {
  return symbol.declarations?.[0]?.getSourceFile().fileName.startsWith(`${root}lib/`) === true
}

function isFunction (symbol: ts.Symbol): boolean {
  return (symbol.flags & ts.SymbolFlags.Function) !== 0
}

/** The properties and methods that an interface declares itself. */
function getMembers (symbol: ts.Symbol): ts.Symbol[] {
  if ((symbol.flags & ts.SymbolFlags.Interface) === 0) return []
  const declared = ts.SymbolFlags.Property | ts.SymbolFlags.Method
  return [...symbol.members?.values() ?? []].filter(({ flags }) => (flags & declared) !== 0)
}

const symbols = [...new Set(entryPoints.flatMap(getExports))].filter(isOwn)

t.test('every exported name has a description, and every exported function has an example', async (t) => {
  t.ok(symbols.length > 100)
  t.strictSame(symbols.filter((symbol) => !hasDescription(symbol)).map(({ name }) => name), [])
  t.strictSame(symbols.filter((symbol) => isFunction(symbol) && !hasTag(symbol, 'example')).map(({ name }) => name), [])
})

t.test('every member of an exported interface has a description', async (t) => {
  const missing = symbols.flatMap((symbol) => {
    return getMembers(symbol)
      .filter((member) => !hasDescription(member))
      .map((member) => `${symbol.name}.${member.name}`)
  })
  t.strictSame(missing, [])
})

t.test('every optional option has a default and an example', async (t) => {
  const options = symbols.filter(({ name }) => name.endsWith('Options')).flatMap((symbol) => {
    return getMembers(symbol)
      .filter(({ flags }) => (flags & ts.SymbolFlags.Optional) !== 0)
      .map((member) => ({ name: `${symbol.name}.${member.name}`, member }))
  })
  t.ok(options.length > 40)
  t.strictSame(options.filter(({ member }) => !hasTag(member, 'default')).map(({ name }) => name), [])
  t.strictSame(options.filter(({ member }) => !hasTag(member, 'example')).map(({ name }) => name), [])
})

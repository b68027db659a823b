import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { findTypeCircles, readImports } from '../bench/structure/imports.ts'

// docs/architecture.md, checked against the imports of lib/.

const root = fileURLToPath(new URL('..', import.meta.url))
const files = readdirSync(join(root, 'lib'), { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.ts'))
  .sort()
const source = (file: string): string => readFileSync(join(root, 'lib', file), 'utf8')

interface Import {
  readonly from: string
  /** A file of lib, or the name of a package. */
  readonly to: string
  readonly own: boolean
  /** A type import, which does not exist at run time. */
  readonly typeOnly: boolean
}

const statement = /^(?:import|export)\s+(type\s)?(?:([^'"]*?)\sfrom\s+)?'([^']+)'/gm

const imports: readonly Import[] = files.flatMap((from) =>
  [...source(from).matchAll(statement)].map(([, type, names = '', to = '']) => ({
    from,
    to: to.startsWith('.') ? join(dirname(from), to) : to,
    own: to.startsWith('.'),
    typeOnly:
      type !== undefined ||
      (/^\{[^}]*\}$/.test(names) &&
        names
          .slice(1, -1)
          .split(',')
          .every((name) => /^\s*(type\s|$)/.test(name)))
  }))
)

const describe = (wrong: readonly Import[]): string[] => wrong.map(({ from, to }) => `${from} imports ${to}`)

const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

/** The names in the first column of a table, whose head begins with this. */
function firstColumn (head: string): string[] {
  const table = page.slice(page.indexOf(`| ${head}`)).split('\n\n', 1)[0]!
  return table
    .split('\n')
    .slice(2)
    .flatMap((line) => [...line.split('|')[1]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!))
}

const folders = firstColumn('folder')
const inRoot = firstColumn('in `lib/` itself')

/** The folder that the table has: each door is one. */
function getFolder (file: string): string {
  return /^(?:doors\/)?[^/]*\//.exec(file)?.[0] ?? ''
}

test('every import statement is parsed', async (t) => {
  for (const file of files) {
    const count = source(file).match(/^(import\b|export\b.*\bfrom '|\} from ')/gm)?.length ?? 0
    const multiline = source(file).match(/^\} from '/gm)?.length ?? 0
    const opened = source(file).match(/^import [^']*\{\s*$/gm)?.length ?? 0
    t.equal(imports.filter(({ from }) => from === file).length, count - Math.min(multiline, opened), file)
  }
})

test('docs/architecture.md lists every folder and every file of the root, and no others', async (t) => {
  t.strictSame([...new Set(files.map(getFolder))].filter((folder) => folder !== '').sort(), folders.toSorted())
  t.strictSame(
    files.filter((file) => getFolder(file) === ''),
    inRoot.toSorted()
  )
})

test('folders import only folders below them, also types', async (t) => {
  const wrong = imports.filter(({ from, to, own }) => {
    if (!own || getFolder(from) === '' || getFolder(from) === getFolder(to)) return false
    return getFolder(to) === '' || folders.indexOf(getFolder(to)) < folders.indexOf(getFolder(from))
  })
  t.strictSame(describe(wrong), [])
})

test('features and relations import no other one, and doors no other door, except batches that of HTTP', async (t) => {
  const getPart = (file: string): string | undefined => {
    if (file === 'features/index.ts') return undefined
    return /^(?:doors|features|relations)\/[^/.]*/.exec(file)?.[0].replace(/^relations.*/, 'relations')
  }
  const wrong = imports.filter(({ from, to, own }) => {
    const [part, other] = [getPart(from), getPart(to)]
    if (!own || part === undefined || other === undefined || part === other) return false
    // Each is above the doors.
    return part.startsWith('doors/') ? part !== 'doors/batch' || other !== 'doors/http' : !other.startsWith('doors/')
  })
  t.strictSame([...new Set(describe(wrong))].sort(), [
    'doors/code/calls.ts imports doors/http/preconditions.ts',
    'doors/code/calls.ts imports doors/http/presentation.ts',
    'doors/code/calls.ts imports doors/http/representation.ts',
    'doors/code/calls.ts imports doors/http/trace-action.ts'
  ])
})

test('docs/architecture.md says how many lines each part has', async (t) => {
  const section = readFileSync(join(root, 'docs/architecture.md'), 'utf8').split('## How much there is')[1]!.split('\n## ')[0]!
  const rows = [...section.matchAll(/^\| .+ \| (`.+`) \| ([\d,]+) \|$/gm)].map(([, names = '', lines = '']) => ({
    names: names.split(', ').map((name) => name.replaceAll('`', '')),
    stated: Number(lines.replace(',', ''))
  }))
  const isIn = (file: string, name: string) => file === name || (!name.endsWith('.ts') && file.startsWith(name))
  for (const file of files) t.equal(rows.filter(({ names }) => names.some((name) => isIn(file, name))).length, 1, file)
  for (const { names, stated } of rows) {
    const own = files.filter((file) => names.some((name) => isIn(file, name)))
    const lines = own.map((file) => readFileSync(join(root, 'lib', file), 'utf8').split('\n').length - 1)
    const count = lines.reduce((sum, length) => sum + length, 0)
    t.ok(Math.abs(count - stated) <= Math.max(100, count / 10), `${names}: ${count}`)
  }
})

test('types refer to each other in few circles', async (t) => {
  const circles = findTypeCircles(readImports(root))
  // What a definition is, the engine, and the types of calls refer to each other; the other files do not.
  t.strictSame(circles[0]?.toSorted(), [
    'engine/action-info.ts',
    'engine/call-types.ts',
    'engine/collection.ts',
    'engine/definition.ts',
    'engine/feature.ts',
    'engine/operation.ts',
    'engine/relation-types.ts',
    'engine/rendering.ts',
    'engine/selection.ts',
    'engine/transaction.ts'
  ])
  t.ok(circles.slice(1).every(({ length }) => length <= 4))
})

test('there are no circular imports at run time', async (t) => {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' > '))
    else if (!done.has(file)) {
      for (const { to } of imports.filter(({ from, own, typeOnly }) => own && !typeOnly && from === file)) {
        visit(to, [...path, file])
      }
      done.add(file)
    }
  }
  for (const file of files) visit(file, [])
  t.strictSame(circles, [])
})

test('http/ imports only node: modules and itself', async (t) => {
  t.strictSame(
    describe(
      imports.filter(
        ({ from, to, own }) => from.startsWith('http/') && !(own ? to.startsWith('http/') : to.startsWith('node:'))
      )
    ),
    []
  )
})

test('formats/ imports only node: modules, itself, http/ and the types of the contract', async (t) => {
  t.strictSame(
    describe(
      imports.filter(
        ({ from, to, own, typeOnly }) =>
          from.startsWith('formats/') &&
          !(own
            ? to.startsWith('formats/') || to.startsWith('http/') || (to === 'storage/contract.ts' && typeOnly)
            : to.startsWith('node:'))
      )
    ),
    []
  )
})

test('a storage imports only node: modules, the contract and storage/; the contract only types of JSON Schema', async (t) => {
  t.strictSame(
    describe(
      imports.filter(
        ({ from, to, own }) =>
          from.startsWith('storage/') && from !== 'storage/contract.ts' &&
          !(own ? to.startsWith('storage/') : to.startsWith('node:'))
      )
    ),
    []
  )
  const ofContract = imports.filter(({ from }) => from === 'storage/contract.ts')
  t.ok(ofContract.every(({ to, typeOnly }) => to === 'json-schema/json-schema.ts' && typeOnly))
})

test('storages do not import each other or the conformance suite, and the suite imports no storage', async (t) => {
  const concrete = ['memory', 'sqlite', 'postgres', 'mysql', 'conformance']
  const getStorage = (file: string): string | undefined =>
    concrete.find((name) => file === `storage/${name}.ts` || file.startsWith(`storage/${name}/`))
  t.strictSame(
    describe(
      imports.filter(
        ({ from, to }) =>
          getStorage(from) !== undefined && getStorage(to) !== undefined && getStorage(from) !== getStorage(to)
      )
    ),
    []
  )
})

test('code above storage/ imports only the storage files that docs/architecture.md lists', async (t) => {
  const line = page.split('\n').find((line) => line.startsWith('| above `storage/` |')) ?? ''
  const shared = [...line.slice(line.indexOf('and `')).matchAll(/`([\w-]+)`/g)].map((match) => `storage/${match[1]}.ts`)
  t.strictSame(
    describe(
      imports.filter(
        ({ from, to, typeOnly }) =>
          !from.startsWith('storage/') &&
          to.startsWith('storage/') &&
          !shared.includes(to) &&
          !(to === 'storage/contract.ts' && typeOnly)
      )
    ),
    []
  )
})

test('fastify is imported only as types', async (t) => {
  t.strictSame(describe(imports.filter(({ to, typeOnly }) => to === 'fastify' && !typeOnly)), [])
})

test('runtime imports are dependencies, and type imports are dependencies or peer dependencies', async (t) => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >
  const used = imports.filter(({ to, own }) => !own && !to.startsWith('node:'))
  const getPackage = (to: string): string =>
    to
      .split('/')
      .slice(0, to.startsWith('@') ? 2 : 1)
      .join('/')
  t.strictSame(
    [...new Set(used.filter(({ typeOnly }) => !typeOnly).map(({ to }) => getPackage(to)))].sort(),
    Object.keys(dependencies!).sort()
  )
  t.strictSame(
    describe(
      used.filter(
        ({ to, typeOnly }) => typeOnly && !Object.hasOwn({ ...dependencies, ...peerDependencies }, getPackage(to))
      )
    ),
    []
  )
})

test('file names are kebab-case and contain no generic words such as utils', async (t) => {
  t.strictSame(
    files.filter((file) => /(^|[/-])(common|shared|utils?|helpers?|misc)\b/.test(file)),
    []
  )
  t.strictSame(
    files.filter((file) => !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(file)),
    []
  )
})

test('every file of lib can be imported, so that coverage includes it', async (t) => {
  // The command runs as soon as it is imported. test/storage/schema.test.ts starts it.
  for (const file of files.filter((file) => file !== 'cli.ts')) await t.resolves(import(join(root, 'lib', file)), file)
})

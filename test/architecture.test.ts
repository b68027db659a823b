import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = readdirSync(join(root, 'lib'), { recursive: true }).map(String).filter(name => name.endsWith('.ts')).sort()
const source = (file: string): string => readFileSync(join(root, 'lib', file), 'utf8')

interface Import {
  readonly from: string
  /** A file of lib, or the name of a package. */
  readonly to: string
  readonly own: boolean
  /** Gone when the program runs. */
  readonly typeOnly: boolean
}

const statement = /^(?:import|export)\s+(type\s)?(?:([^'"]*?)\sfrom\s+)?'([^']+)'/gm

const imports: readonly Import[] = files.flatMap(from => [...source(from).matchAll(statement)].map(([, type, names = '', to = '']) => ({
  from,
  to: to.startsWith('.') ? join(dirname(from), to) : to,
  own: to.startsWith('.'),
  typeOnly: type !== undefined || (/^\{[^}]*\}$/.test(names) && names.slice(1, -1).split(',').every(name => /^\s*(type\s|$)/.test(name)))
})))

const told = (wrong: readonly Import[]): string[] => wrong.map(({ from, to }) => `${from} imports ${to}`)

/** The floors of docs/architecture.md, the highest first; a name that ends with a slash is a folder, but for the files of it that have a floor of their own. */
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
const section = page.slice(page.indexOf('## Floors'))
const floors = section.slice(section.indexOf('| floor'), section.indexOf('\n\n| rule')).split('\n').slice(2).map(named)
const placed = new Set(floors.flat())

function named (line: string): string[] {
  return [...line.matchAll(/`([^`]+)`/g)].map(match => match[1]!)
}

function place (file: string): string {
  const name = file.replace(/\.ts$/, '')
  return placed.has(name) ? name : file.slice(0, file.indexOf('/') + 1) || name
}

function floor (file: string): number {
  return floors.findIndex(names => names.includes(place(file)))
}

/** The files that a rule of docs/architecture.md names. */
function ruled (rule: string): string[] {
  const line = section.split('\n').find(line => line.startsWith(`| ${rule} |`)) ?? ''
  return named(line.slice(rule.length + 3)).map(name => `${name}.ts`)
}

test('every import statement is understood', async t => {
  for (const file of files) {
    const count = source(file).match(/^(import\b|export\b.*\bfrom '|\} from ')/gm)?.length ?? 0
    const multiline = source(file).match(/^\} from '/gm)?.length ?? 0
    const opened = source(file).match(/^import [^']*\{\s*$/gm)?.length ?? 0
    t.equal(imports.filter(({ from }) => from === file).length, count - Math.min(multiline, opened), file)
  }
})

test('every file stands on a floor, and every floor has files', async t => {
  t.same(files.filter(file => floor(file) < 0), [])
  const standing = new Set(files.map(place))
  t.same([...placed].filter(name => !standing.has(name)), [])
})

test('imports point to the same floor or down, but for types', async t => {
  t.same(told(imports.filter(({ from, to, own, typeOnly }) => own && !typeOnly && floor(to) < floor(from))), [])
})

test('there are no circles, but for types', async t => {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' > '))
    else if (!done.has(file)) {
      for (const { to } of imports.filter(({ from, own, typeOnly }) => own && !typeOnly && from === file)) visit(to, [...path, file])
      done.add(file)
    }
  }
  for (const file of files) visit(file, [])
  t.same(circles, [])
})

test('http/ imports node: and itself', async t => {
  t.same(told(imports.filter(({ from, to, own }) => from.startsWith('http/') && !(own ? to.startsWith('http/') : to.startsWith('node:')))), [])
})

test('formats/ imports node:, itself, http/ and the types of the contract', async t => {
  t.same(told(imports.filter(({ from, to, own, typeOnly }) => from.startsWith('formats/') &&
    !(own ? to.startsWith('formats/') || to.startsWith('http/') || (to === 'storage/contract.ts' && typeOnly) : to.startsWith('node:')))), [])
})

test('a storage imports node:, the contract and files of storage/; the contract imports nothing', async t => {
  t.same(told(imports.filter(({ from, to, own }) => from.startsWith('storage/') && !(own ? to.startsWith('storage/') : to.startsWith('node:')))), [])
  t.same(told(imports.filter(({ from }) => from === 'storage/contract.ts')), [])
})

test('a storage knows no other, nor the suite; the suite knows no storage', async t => {
  const concrete = ['memory', 'sqlite', 'postgres', 'mysql', 'conformance']
  const kin = (file: string): string | undefined => concrete.find(name => file === `storage/${name}.ts` || file.startsWith(`storage/${name}/`))
  t.same(told(imports.filter(({ from, to }) => kin(from) !== undefined && kin(to) !== undefined && kin(from) !== kin(to))), [])
})

test('above storage/, only the types of the contract are known, and what a filter, a date-time and a search mean', async t => {
  t.same(told(imports.filter(({ from, to, typeOnly }) => !from.startsWith('storage/') && to.startsWith('storage/') && !['storage/matching.ts', 'storage/instant.ts', 'storage/search-words.ts'].includes(to) && !(to === 'storage/contract.ts' && typeOnly))), [])
})

test('http/ and the contract meet where docs/architecture.md says, and nowhere else', async t => {
  const uses = (file: string, test: (to: string) => boolean): boolean => imports.some(({ from, to, own }) => own && from === file && test(to))
  const meets = files.filter(file => uses(file, to => to.startsWith('http/')) && uses(file, to => to === 'storage/contract.ts'))
  const allowed = ruled('`http/` and the contract meet in')
  const deciding = floors.findIndex(names => names.includes('items/'))
  t.same(allowed.filter(file => !meets.includes(file)), [])
  // The index gives both away, and the ground knows them by its own rules.
  t.same(meets.filter(file => file !== 'index.ts' && floor(file) !== deciding && floor(file) !== floors.length - 1 && !allowed.includes(file)), [])
})

test('fastify is imported as a type alone, where docs/architecture.md says', async t => {
  const known = imports.filter(({ to }) => to === 'fastify')
  t.same(told(known.filter(({ typeOnly }) => !typeOnly)), [])
  t.same([...new Set(known.map(({ from }) => from))].sort(), ruled('Fastify').sort())
})

test('packages that are imported are dependencies; peers are imported as types', async t => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, Record<string, string>>
  const used = imports.filter(({ to, own }) => !own && !to.startsWith('node:'))
  const bare = (to: string): string => to.split('/').slice(0, to.startsWith('@') ? 2 : 1).join('/')
  t.same([...new Set(used.filter(({ typeOnly }) => !typeOnly).map(({ to }) => bare(to)))].sort(), Object.keys(dependencies!).sort())
  t.same(told(used.filter(({ to, typeOnly }) => typeOnly && !Object.hasOwn({ ...dependencies, ...peerDependencies }, bare(to)))), [])
})

test('files are named after what they hold', async t => {
  t.same(files.filter(file => /(^|[/-])(common|shared|utils?|helpers?|misc)\b/.test(file)), [])
  t.same(files.filter(file => !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(file)), [])
})

test('every file of lib can be imported, so that coverage counts them all', async t => {
  for (const file of files) await t.resolves(import(join(root, 'lib', file)), file)
})

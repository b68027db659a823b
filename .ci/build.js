import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import ts from 'typescript'

// Builds dist/ from lib/: one file for each entry of the package and what several of them share, and the types that the
// exports need.

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const { bin, dependencies, exports, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Browsers load the client as it is, so it is one file. What imports it is in dist/client/ or dist/chunks/. */
const client = 'client/client'
const keepClientWhole = {
  name: 'keep-client-whole',
  resolveId (source, importer) {
    const isClient = importer !== undefined && resolve(dirname(importer), source) === getSource(client)
    return isClient ? { id: `../${client}.js`, external: true } : undefined
  }
}

rmSync(dist, { recursive: true, force: true })
emitTypes()
removeInternalTypes()
await bundle()

function emitTypes () {
  const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'))
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
}

/** Three quarters of the declarations belong to files that no public type refers to. */
function removeInternalTypes () {
  const needed = new Set()
  for (const { types } of Object.values(exports)) {
    if (types !== undefined) addWithImports(join(root, types), needed)
  }
  for (const file of readdirSync(dist, { recursive: true })) {
    const path = join(dist, file)
    if (file.endsWith('.d.ts') && !needed.has(path)) rmSync(path)
  }
}

function addWithImports (file, needed) {
  if (needed.has(file)) return
  needed.add(file)
  for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
    if (!fileName.startsWith('.')) continue
    addWithImports(resolve(dirname(file), fileName.replace(/\.[jt]s$/, '.d.ts')), needed)
  }
}

async function bundle () {
  const files = [...Object.values(exports).map((target) => target.default), ...Object.values(bin)]
  const names = files.filter((file) => file !== undefined).map(getName)
  const main = getSource(getName(exports['.'].default))
  // With all that it imports. Otherwise there would be a file for each set of entries that share something.
  const codeSplitting = { groups: [{ name: 'core', test: (module) => module === main }] }
  await write([client])
  await write(names.filter((name) => name !== client), { codeSplitting })
}

async function write (names, options = {}) {
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, getSource(name)])),
    platform: 'node',
    plugins: [keepClientWhole],
    external: Object.keys({ ...dependencies, ...peerDependencies }).map((name) => new RegExp(`^${name}(/|$)`))
  })
  await build.write({
    dir: dist,
    sourcemap: true,
    comments: false,
    minifyInternalExports: false,
    chunkFileNames: 'chunks/[name].js',
    ...options
  })
  await build.close()
}

function getName (file) {
  return file.replace(/^(\.\/)?dist\/(.*)\.js$/, '$2')
}

function getSource (name) {
  return join(root, 'lib', `${name}.ts`)
}

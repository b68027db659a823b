import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

// Compiles lib/ to dist/: JavaScript without comments, and the types that the exports of the package need.

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
// Only the second step checks the types: the first one would find the same errors.
compile('--removeComments', '--noCheck', '--declaration', 'false')
compile('--emitDeclarationOnly')
removeInternalTypes()

function compile (...options) {
  const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'))
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', ...options], { cwd: root, stdio: 'inherit' })
}

/** Three quarters of the declarations belong to files that no public type refers to. */
function removeInternalTypes () {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
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

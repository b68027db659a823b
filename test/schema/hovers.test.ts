import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { nativeCompiler, root, runProgram, scratch } from '../example.ts'

test('an editor shows the item of a definition, whatever the library of its schema is', async (t) => {
  // Declarations have the types that an editor shows.
  const folder = scratch()
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      noCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: root,
      outDir: folder,
      typeRoots: [join(root, 'node_modules/@types')]
    },
    files: [join(root, 'test/fixtures/hovers.ts')],
    include: []
  }))
  t.strictSame(runProgram(nativeCompiler, '-p', folder), { status: 0, output: '' })
  const declarations = readFileSync(join(folder, 'test/fixtures/hovers.d.ts'), 'utf8').replaceAll(/\s+/g, ' ')
  const shown = declarations.matchAll(/const (\w+): import\("[^"]*"\)\.(.*?);(?= export|\s*$)/g)
  t.strictSame(Object.fromEntries(Array.from(shown, ([, name, type]) => [name, type])), {
    ofTypeBox: 'Definition<{ id: string; name: string; about?: string; }, never>',
    ofTypeBox1: 'Definition<{ id: string; name: string; about?: string; }, never>',
    ofZod: 'Definition<{ id: string; name: string; about?: string | undefined; }, never>',
    ofValibot: 'Definition<{ id: string; name: string; about?: string; }, never>',
    ofArkType: 'Definition<{ id: string; name: string; about?: string; }, never>'
  })
})

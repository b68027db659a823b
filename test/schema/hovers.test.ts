import { join } from 'node:path'
import { test } from 'tap'
import ts from 'typescript'
import { root } from '../example.ts'

test('an editor shows the item of a definition, whatever the library of its schema is', async (t) => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile) as { config: unknown }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const file = join(root, 'test/fixtures/hovers.ts')
  const program = ts.createProgram([file], options)
  const checker = program.getTypeChecker()
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!)
  const shown = exported.map((symbol) => {
    return [symbol.name, checker.typeToString(checker.getTypeOfSymbol(symbol)).replaceAll(/\s+/g, ' ')]
  })
  t.strictSame(Object.fromEntries(shown), {
    ofTypeBox: 'Definition<{ about?: string; id: string; name: string; }, never>',
    ofTypeBox1: 'Definition<{ about?: string; id: string; name: string; }, never>',
    ofZod: 'Definition<{ id: string; name: string; about?: string | undefined; }, never>',
    ofValibot: 'Definition<{ id: string; name: string; about?: string; }, never>',
    ofArkType: 'Definition<{ id: string; name: string; about?: string; }, never>'
  })
})

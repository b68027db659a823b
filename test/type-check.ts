import { join } from 'node:path'
import ts from 'typescript'

/**
 * Returns the errors of the compiler in the files of a folder with a tsconfig.json, without those that they import:
 * `npm run types` checks the library.
 */
export function checkTypes (folder: string): string {
  const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile) as { config: unknown }
  const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, folder)
  const program = ts.createProgram(fileNames, options)
  const diagnostics = fileNames.flatMap((name) => {
    const file = program.getSourceFile(name)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  })
  return ts.formatDiagnostics([...errors, ...program.getOptionsDiagnostics(), ...diagnostics], {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => folder,
    getNewLine: () => '\n'
  })
}

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'
import type { DeclarationReflection } from 'typedoc'
import type { PluginOptions } from 'typedoc-plugin-markdown'

// Writes site/.types: one page of Markdown for each path of the package, with its public types and their JSDoc, and a
// list of them. It needs the dependencies of the repository, because the types refer to those of Fastify.

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'site/.types')

interface Manifest {
  readonly exports: Record<string, string | { readonly types: string }>
}

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

/** By source file, without its ending: the name of the page, such as `bulk` for `fastify-collections/bulk`. */
const names = new Map(Object.entries(exports).flatMap(([path, target]) => typeof target === 'string'
  ? []
  : [[target.types.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1'), path === '.' ? 'main' : path.slice(2)] as const]))

const options: Partial<PluginOptions> = {
  hideBreadcrumbs: true,
  hidePageHeader: true,
  hidePageTitle: true,
  parametersFormat: 'table'
}

const app = await Application.bootstrapWithPlugins({
  plugin: ['typedoc-plugin-markdown'],
  tsconfig: join(root, 'tsconfig.build.json'),
  basePath: join(root, 'lib'),
  entryPoints: [...names.keys()].map((name) => join(root, 'lib', `${name}.ts`)),
  // test/public-api.test.ts and the compiler check the code; the types that public ones consist of have no pages.
  skipErrorChecking: true,
  validation: { notExported: false },
  treatValidationWarningsAsErrors: true,
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  disableSources: true,
  readme: 'none',
  router: 'module',
  outputs: [{ name: 'markdown', path: folder }],
  logLevel: 'Warn',
  ...options as object
})
const project = await app.convert()
if (project === undefined) throw new Error('The types cannot be read. Run `npm ci` in the repository first.')
const order = [...names.values()]
const modules = project.children ?? []
for (const module of modules) module.name = names.get(module.name) ?? module.name
modules.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
app.validate(project)
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
await app.generateOutputs(project)
if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error('The types have mistakes, see above.')

for (const module of modules) addTitle(module)
writeFileSync(join(folder, 'README.md'), `# Types

The public types of each path of the package, generated from their declarations.

| path | exports |
|---|---|
${modules.map(describe).join('\n')}
`)

function addTitle ({ name }: DeclarationReflection): void {
  const file = join(folder, `${name}.md`)
  const path = toSpecifier(name)
  const text = readFileSync(file, 'utf8')
    // Headings separate enough.
    .replace(/^\*\*\*\n/gm, '')
  writeFileSync(file, `# ${path}\n\nThe types that \`${path}\` exports. [All paths](README.md)\n\n${text}`)
}

function describe ({ name, children = [] }: DeclarationReflection): string {
  return `| [${toSpecifier(name)}](${name}.md) | ${children.map((child) => `\`${child.name}\``).join(', ')} |`
}

function toSpecifier (name: string): string {
  return name === 'main' ? 'fastify-collections' : `fastify-collections/${name}`
}

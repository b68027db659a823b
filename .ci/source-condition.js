import { readFileSync, writeFileSync } from 'node:fs'

// The exports of package.json have a condition with which this repository runs lib/ without a build. The package does
// not contain lib/, so `prepack` removes the condition, and `postpack` adds it again.

const condition = 'fastify-collections-source'
const removes = process.argv[2] === 'remove'

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
for (const [path, target] of Object.entries(manifest.exports)) {
  if (typeof target === 'string') continue
  const { [condition]: source, ...published } = target
  const file = published.default.replace(/^\.\/dist\/(.*)\.js$/, './lib/$1.ts')
  manifest.exports[path] = removes ? published : { [condition]: file, ...published }
}
writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`)

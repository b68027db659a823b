#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

// npx fastify-collections users my-app: copies a starter out of the package, with nothing to be fetched.

const root = fileURLToPath(new URL('..', import.meta.url))
// Of the examples, the package holds the starters alone; in the repository the others have no package.json.
const examples = join(root, 'examples')
const starters = (await readdir(examples)).filter(name => existsSync(join(examples, name, 'package.json'))).sort()
const usage = 'npx fastify-collections users my-app'

// npm never packs a file of this name.
const ignored = 'node_modules\n.env\n*.db\n*.db-*\n'

const [starter, folder, ...more] = process.argv.slice(2)

try {
  if (starter === undefined || folder === undefined || more.length > 0) throw new Error(`Name a starter (${starters.join(', ')}) and a new folder: ${usage}`)
  if (!starters.includes(starter)) throw new Error(`There is no starter "${starter}". Choose ${starters.join(', ')}: ${usage}`)
  await copy(starter, resolve(folder))
  console.log(`${folder} is ready.\n\n  cd ${folder}\n  npm install\n  cp .env.example .env\n  npm start\n\nREADME.md there tells the rest.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}

/**
 * @param {string} starter
 * @param {string} folder
 */
async function copy (starter, folder) {
  if ((await contents(folder)).length > 0) throw new Error(`The folder ${folder} is not empty. Name another, or empty it first.`)
  const source = join(examples, starter)
  await cp(source, folder, { recursive: true, filter: path => !/[/\\](node_modules|\.env|[^/\\]*\.db(-\w+)?)$/.test(path.slice(source.length)) })
  const { version } = await manifest(root)
  const own = await manifest(folder)
  own.name = basename(folder).toLowerCase().replace(/[^a-z0-9-]+/g, '-').replace(/^-+|-+$/g, '') || starter
  own.dependencies['fastify-collections'] = `^${version}`
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)
  await writeFile(join(folder, '.gitignore'), ignored)
}

/** @param {string} folder */
async function contents (folder) {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw new Error(`${folder} is no folder that can be read. Name another.`)
  }
}

/** @param {string} folder */
async function manifest (folder) {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}

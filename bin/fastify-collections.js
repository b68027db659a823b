#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

// Copies a starter from the package to a new folder: npx fastify-collections users my-app

const root = fileURLToPath(new URL('..', import.meta.url))
const examples = join(root, 'examples')
const usage = 'npx fastify-collections users my-app'

// Examples with a package.json are starters. The others exist only in the repository.
const starters = (await readdir(examples))
  .filter((name) => existsSync(join(examples, name, 'package.json')))
  .sort()

// Written here because npm does not pack files named .gitignore.
const gitignore = 'node_modules\n.env\n*.db\n*.db-*\n'

/** Files that a starter may have after it has been run in the repository. */
const generatedFile = /[/\\](node_modules|\.env|[^/\\]*\.db(-\w+)?)$/

const [starter, folder, ...extra] = process.argv.slice(2)

try {
  const names = starters.join(', ')
  if (starter === undefined || folder === undefined || extra.length > 0) {
    throw new Error(`Pass the name of a starter (${names}) and a new folder: ${usage}`)
  }
  if (!starters.includes(starter)) {
    throw new Error(`There is no starter "${starter}". Use one of ${names}: ${usage}`)
  }
  await copyStarter(starter, resolve(folder))
  console.log([
    `${folder} is ready.`,
    '',
    `  cd ${folder}`,
    '  npm install',
    '  cp .env.example .env',
    '  npm start',
    '',
    'See README.md in that folder for more.'
  ].join('\n'))
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}

/**
 * @param {string} starter
 * @param {string} folder
 */
async function copyStarter (starter, folder) {
  if ((await listFiles(folder)).length > 0) {
    throw new Error(`The folder ${folder} is not empty. Use another folder, or empty it first.`)
  }
  const source = join(examples, starter)
  await cp(source, folder, {
    recursive: true,
    filter: (path) => !generatedFile.test(path.slice(source.length))
  })
  const { version } = await readManifest(root)
  const manifest = await readManifest(folder)
  manifest.name = toPackageName(basename(folder)) || starter
  manifest.dependencies['fastify-collections'] = `^${version}`
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await writeFile(join(folder, '.gitignore'), gitignore)
}

/** @param {string} name */
function toPackageName (name) {
  return name.toLowerCase().replace(/[^a-z0-9-]+/g, '-').replace(/^-+|-+$/g, '')
}

/**
 * Returns the names of the files in a folder; none if the folder does not exist.
 *
 * @param {string} folder
 */
async function listFiles (folder) {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw new Error(`${folder} is not a readable folder. Use another folder.`)
  }
}

/** @param {string} folder */
async function readManifest (folder) {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}

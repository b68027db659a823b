#!/usr/bin/env node
import { randomBytes } from 'node:crypto'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

// npm create fastify-collections: copies a starter of the package fastify-collections to a new folder.

const library = dirname(createRequire(import.meta.url).resolve('fastify-collections/package.json'))
const examples = join(library, 'examples')

/** By starter: the databases that it can use, the first by default, and the settings that are secrets. */
const starters = {
  minimal: { databases: ['sqlite', 'postgres', 'mysql'], secrets: [] },
  users: { databases: ['sqlite'], secrets: ['JWT_SECRET'] },
  articles: { databases: ['sqlite'], secrets: ['WRITER_KEY', 'EDITOR_KEY'] },
  products: { databases: ['postgres'], secrets: ['EDITOR_KEY'] }
}

const names = Object.keys(starters).join(', ')

const usage = `Usage: npm create fastify-collections <folder> -- --starter <starter> [--database <database>]
Starters: ${names}. Databases of the starter minimal: ${starters.minimal.databases.join(', ')}.
You are prompted for missing values.`

/** Written here because npm does not pack files named .gitignore. */
const gitignore = 'node_modules\n.env\n*.db\n*.db-*\n'

/** Files that a starter may have after it has been run in the repository. */
const generatedFile = /[/\\](node_modules|\.env|[^/\\]*\.db(-\w+)?)$/

/** A mistake that is reported in one sentence. */
class Refusal extends Error {}

try {
  await main()
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exitCode = 1
}

async function main () {
  const libraryManifest = await readManifest(library)
  checkNode(libraryManifest.engines.node)
  const { help, ...given } = parseArguments()
  if (help) {
    console.log(usage)
    return
  }
  const { folder, starter, database } = await askForMissing(given)
  await copyStarter({ starter, database, folder: resolve(folder), version: libraryManifest.version })
  console.log(describeSteps({ folder, starter, database }))
}

/**
 * Starters run TypeScript directly and use node:sqlite.
 *
 * @param {string} range such as >=22.18
 */
function checkNode (range) {
  const [major, minor] = range.slice(2).split('.').map(Number)
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number)
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return
  throw new Refusal(`This is Node.js ${process.versions.node}. The starters need ${major}.${minor} or newer.`)
}

function parseArguments () {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { starter: { type: 'string' }, database: { type: 'string' }, help: { type: 'boolean' } }
    })
    if (positionals.length > 1) throw new Error('Pass one folder.')
    return { ...values, folder: positionals[0] }
  } catch (error) {
    throw new Refusal(`${error.message}\n${usage}`)
  }
}

/** @param {{ folder?: string, starter?: string, database?: string }} given */
async function askForMissing (given) {
  const reader = createInterface({ input: process.stdin })
  const lines = reader[Symbol.asyncIterator]()

  /** Returns the answer, or the default if it is empty. Without input, it is the default only if that is expected. */
  async function ask (question, fallback, { optional = false } = {}) {
    process.stdout.write(`${question} [${fallback}]: `)
    const { value = '', done } = await lines.next()
    if (done && optional) console.log(fallback)
    else if (done) throw new Refusal(`\nThe answer is missing.\n${usage}`)
    return value.trim() || fallback
  }

  try {
    const folder = given.folder ?? await ask('Folder', 'my-app')
    await checkFolder(resolve(folder))
    const starter = given.starter ?? await ask(`Starter (${names})`, 'minimal')
    if (!Object.hasOwn(starters, starter)) {
      throw new Refusal(`There is no starter "${starter}". Use one of: ${names}.`)
    }
    const { databases } = starters[starter]
    const needsDatabase = given.database === undefined && databases.length > 1
    const database = needsDatabase
      ? await ask(`Database (${databases.join(', ')})`, databases[0], { optional: true })
      : given.database ?? databases[0]
    if (!databases.includes(database)) {
      throw new Refusal(`The starter ${starter} does not support the database "${database}". Use ${databases.join(', ')}.`)
    }
    return { folder, starter, database }
  } finally {
    reader.close()
  }
}

/** @param {string} folder */
async function checkFolder (folder) {
  const files = await readdir(folder).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw new Refusal(`${folder} is not a readable folder. Use another folder.`)
  })
  if (files.length > 0) throw new Refusal(`The folder ${folder} is not empty. Use another folder, or empty it first.`)
}

/** @param {{ starter: string, database: string, folder: string, version: string }} options */
async function copyStarter ({ starter, database, folder, version }) {
  const sources = [
    join(examples, 'shared'),
    join(examples, 'shared/databases', database),
    join(examples, starter),
    ...starters[starter].databases.length > 1 ? [join(examples, starter, 'databases', database)] : []
  ]
  const manifest = {}
  for (const source of sources) {
    await cp(source, folder, { recursive: true, filter: (path) => !generatedFile.test(path.slice(source.length)) })
    mergeManifest(manifest, await readManifest(source))
  }
  await rm(join(folder, 'databases'), { recursive: true, force: true })
  manifest.name = toPackageName(basename(folder)) || starter
  manifest.dependencies['fastify-collections'] = `^${version}`
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await writeFile(join(folder, '.gitignore'), gitignore)
  const settings = fillSecrets(await readFile(join(folder, '.env.example'), 'utf8'), starter)
  // Only for the user: other users of the machine are not to read the secrets.
  await writeFile(join(folder, '.env'), settings, { mode: 0o600 })
}

/** Adds the properties of another package.json. */
function mergeManifest (manifest, further) {
  for (const [name, value] of Object.entries(further)) {
    manifest[name] = typeof value === 'object' ? { ...manifest[name], ...value } : value
  }
}

/** Returns the content of .env with new secrets. */
function fillSecrets (example, starter) {
  let content = example.replace('# Copy this file to .env.\n', '')
  for (const name of starters[starter].secrets) {
    content = content.replace(`${name}=\n`, () => `${name}=${randomBytes(32).toString('base64url')}\n`)
  }
  return content
}

/** @param {{ folder: string, starter: string, database: string }} options */
function describeSteps ({ folder, starter, database }) {
  const { secrets } = starters[starter]
  return [
    '',
    `${folder} is ready. Its settings are in .env${secrets.length > 0 ? `, with a new ${secrets.join(' and ')}` : ''}.`,
    '',
    `  cd ${folder}`,
    '  npm install',
    ...database === 'sqlite'
      ? []
      : ['  docker compose up --detach --wait database   # or set DATABASE_URL in .env'],
    '  npm test',
    '  npm start',
    '',
    'See README.md in that folder for more.'
  ].join('\n')
}

/** @param {string} name */
function toPackageName (name) {
  return name.toLowerCase().replace(/[^a-z0-9-]+/g, '-').replace(/^-+|-+$/g, '')
}

/** Returns package.json of a folder; an empty object if there is none. */
async function readManifest (folder) {
  const content = await readFile(join(folder, 'package.json'), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  return JSON.parse(content)
}

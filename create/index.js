#!/usr/bin/env node
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

// npm create fastify-collections: copies a starter of the package fastify-collections to a new folder.

const library = dirname(createRequire(import.meta.url).resolve('fastify-collections/package.json'))
const examples = join(library, 'examples')

/** By starter: the settings that are secrets. */
const starters = {
  minimal: [],
  users: ['JWT_SECRET'],
  articles: ['WRITER_KEY', 'EDITOR_KEY'],
  products: ['EDITOR_KEY']
}

/** The first is the default. */
const databases = ['sqlite', 'postgres', 'mysql']

const names = Object.keys(starters).join(', ')

const usage = `Usage: npm create fastify-collections [<folder>] [-- --starter <starter> --database <database>]
Starters: ${names}. Databases: ${databases.join(', ')}.
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
      options: {
        starter: { type: 'string' },
        database: { type: 'string' },
        help: { type: 'boolean', short: 'h' }
      }
    })
    return addPositionals(values, positionals)
  } catch (error) {
    throw new Refusal(`${error.message}\n${usage}`)
  }
}

/**
 * Adds the folder. Without `--`, npm takes `--starter` as an option of its own and passes only its value, as a further
 * word; it passes `--starter=users` in the environment.
 */
function addPositionals (values, positionals) {
  const given = { ...values }
  const { npm_config_starter: npmStarter, npm_config_database: npmDatabase } = process.env
  if (npmStarter !== 'true') given.starter ??= npmStarter
  if (npmDatabase !== 'true') given.database ??= npmDatabase
  for (const word of positionals) {
    if (given.starter === undefined && npmStarter === 'true' && Object.hasOwn(starters, word)) given.starter = word
    else if (given.database === undefined && npmDatabase === 'true' && databases.includes(word)) given.database = word
    else if (given.folder === undefined) given.folder = word
    else throw new Error(`"${word}" is not expected: pass one folder.`)
  }
  return given
}

/** @param {{ folder?: string, starter?: string, database?: string }} given */
async function askForMissing (given) {
  const reader = createInterface({ input: process.stdin })
  const lines = reader[Symbol.asyncIterator]()

  /**
   * Returns a value that passes the check: the given one or an answer, or the default for an empty answer. A wrong
   * answer is explained, and the question is repeated. Without input, the default is used only if it is `optional`.
   */
  async function choose (value, { question, fallback, check, optional = false }) {
    if (value !== undefined) {
      await check(value)
      return value
    }
    for (;;) {
      process.stdout.write(`${question} [${fallback}]: `)
      const { value: line = '', done } = await lines.next()
      if (done && optional) console.log(fallback)
      else if (done) throw new Refusal(`\nThe answer is missing.\n${usage}`)
      const answer = line.trim() || fallback
      try {
        await check(answer)
        return answer
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        console.log(error.message)
      }
    }
  }

  try {
    const folder = await choose(given.folder, { question: 'Folder', fallback: 'my-app', check: checkFolder })
    const starter = await choose(given.starter, {
      question: `Starter (${names})`,
      fallback: 'minimal',
      check (name) {
        if (!Object.hasOwn(starters, name)) throw new Refusal(`There is no starter "${name}". Use one of: ${names}.`)
      }
    })
    const database = await choose(given.database, {
      question: `Database (${databases.join(', ')})`,
      fallback: databases[0],
      optional: true,
      check (name) {
        if (databases.includes(name)) return
        throw new Refusal(`The database "${name}" is not supported. Use one of: ${databases.join(', ')}.`)
      }
    })
    return { folder, starter, database }
  } finally {
    reader.close()
  }
}

/** @param {string} name */
async function checkFolder (name) {
  const folder = resolve(name)
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
    join(examples, starter, 'databases', database)
  ].filter((source) => existsSync(source))
  const manifest = {}
  const settings = []
  for (const source of sources) {
    await cp(source, folder, { recursive: true, filter: (path) => !generatedFile.test(path.slice(source.length)) })
    mergeManifest(manifest, await readManifest(source))
    const example = join(source, '.env.example')
    if (existsSync(example)) settings.push(await readFile(example, 'utf8'))
  }
  await rm(join(folder, 'databases'), { recursive: true, force: true })
  manifest.name = toPackageName(basename(folder)) || starter
  manifest.dependencies['fastify-collections'] = `^${version}`
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await writeFile(join(folder, '.gitignore'), gitignore)
  const example = settings.join('\n')
  await writeFile(join(folder, '.env.example'), example)
  // Only for the user: other users of the machine are not to read the secrets.
  await writeFile(join(folder, '.env'), fillSecrets(example, starter), { mode: 0o600 })
}

/** Adds the properties of another package.json. npm sorts dependencies. */
function mergeManifest (manifest, further) {
  for (const [name, value] of Object.entries(further)) {
    manifest[name] = typeof value === 'object' ? { ...manifest[name], ...value } : value
    if (name.endsWith('ependencies')) manifest[name] = sortKeys(manifest[name])
  }
}

function sortKeys (object) {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => a < b ? -1 : 1))
}

/** Returns the content of .env with new secrets. */
function fillSecrets (example, starter) {
  let content = example.replace('# Copy this file to .env.\n', '')
  for (const name of starters[starter]) {
    content = content.replace(`${name}=\n`, () => `${name}=${randomBytes(32).toString('base64url')}\n`)
  }
  return content
}

/** @param {{ folder: string, starter: string, database: string }} options */
function describeSteps ({ folder, starter, database }) {
  const secrets = starters[starter]
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

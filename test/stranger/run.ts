import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { parseCommands, toPattern } from '../conversation.ts'
import { pack, root } from '../packed.ts'
import { freePort } from '../ports.ts'
import { composeProgram, getPrinted, parseBlocks } from '../programs.ts'
import type { Block } from '../programs.ts'
import { openShell, run, startService } from './machine.ts'
import type { Machine } from './machine.ts'
import { startRegistry } from './registry.ts'

// Follows pages of the docs as a stranger does, on the version of Node.js that runs this file: in an empty folder, with
// the packages that would be published. `npm run test:stranger` has the pages.
//
// - Commands are run, and their output is compared with the one on the page. `npm start` runs until the next one.
// - Programs are written to the file that the text names. Any other program is run, and what it prints is compared.
// - A package that a program imports, and no command installs, is one that the app of the reader already has.
//
// One thing differs from the page: services listen on a free port instead of 3000.

const scratch = mkdtempSync(join(realpathSync(tmpdir()), 'stranger-'))
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))

const { tarball } = pack(scratch)
execFileSync('npm', ['pack', '--pack-destination', scratch], { cwd: join(root, 'create'), stdio: 'ignore' })
const { version } = JSON.parse(readFileSync(join(root, 'create/package.json'), 'utf8')) as { version: string }
const registry = await startRegistry([tarball, join(scratch, `create-fastify-collections-${version}.tgz`)])

// How this machine reaches the network.
const network = Object.entries(process.env).filter(([name]) => /^(node_extra_ca_certs|npm_config_cafile|(https?|no)_proxy)$/i.test(name))

const environment = {
  ...Object.fromEntries(network) as Record<string, string>,
  PATH: [dirname(process.execPath), ...(process.env['PATH'] ?? '').split(delimiter)]
    .filter((folder, index) => index === 0 || !folder.includes('node_modules'))
    .join(delimiter),
  HOME: join(scratch, 'home'),
  npm_config_registry: registry.address,
  // Packages of earlier runs are not downloaded again.
  npm_config_cache: execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim(),
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false'
}
mkdirSync(environment.HOME)

try {
  for (const page of process.argv.slice(2)) {
    const folder = join(scratch, basename(page, '.md'))
    mkdirSync(folder)
    await follow(page, { folder, environment })
  }
} finally {
  registry.stop()
}

async function follow (page: string, machine: Machine): Promise<void> {
  const blocks = parseBlocks(readFileSync(join(root, page), 'utf8'))
  const port = await freePort()
  const shell = openShell(machine)
  let stop = async () => {}
  let steps = 0

  const withPort = (text: string) =>
    text.replaceAll('localhost:3000', `127.0.0.1:${port}`).replaceAll('port: 3000', `port: ${port}`)

  async function runCommand (command: string): Promise<void> {
    if (command === 'npm start') {
      await stop()
      stop = await startService(machine, port)
    } else {
      await run(machine, withPort(command))
    }
  }

  async function runProgram (block: Block): Promise<void> {
    const code = withPort(composeProgram(block, blocks))
    const file = `line-${block.line}.${block.language === 'js' ? 'cjs' : 'mts'}`
    writeFileSync(join(machine.folder, file), code)
    const output = await run(machine, `node ${file}`)
    const printed = getPrinted(code)
    if (printed.length > 0) assert.deepEqual(output.trimEnd().split('\n'), printed)
  }

  try {
    const missing = listMissing(blocks)
    if (missing.length > 0) await run(machine, `npm init -y && npm install ${missing.join(' ')}`)
    for (const block of blocks) {
      const { language, code, file, line } = block
      try {
        if (file !== undefined) writeFileSync(join(machine.folder, file), withPort(code))
        else if (language === 'ts' || language === 'js') await runProgram(block)
        else if (language === 'sh') for (const command of code.trim().split('\n')) await runCommand(command)
        else if (language === 'console') {
          for (const { run, shown } of parseCommands(code)) {
            if (run.startsWith('npm create ')) await createApp(machine, run, shown)
            else assert.match(await shell.send(withPort(run)), shown.length === 0 ? /^$/ : toPattern(shown))
          }
        } else continue
      } catch (error) {
        throw new Error(`${page}, line ${line}`, { cause: error })
      }
      steps += 1
    }
  } finally {
    await stop()
    shell.end()
  }
  assert.ok(steps > 0, `${page} has nothing to run`)
  console.log(`${page}: ${steps} blocks run on Node.js ${process.versions.node}`)
}

/** Returns the packages that programs import, and no command installs. */
function listMissing (blocks: readonly Block[]): string[] {
  const imported = blocks.flatMap(({ language, code }) => language !== 'ts' && language !== 'js'
    ? []
    : [...code.matchAll(/(?: from |require\()'((?:@[\w-]+\/)?[\w.:-]+)/g)].map(([, name = '']) => name))
  const installed = blocks.flatMap(({ code }) => code.match(/(?<=^npm install ).*/gm) ?? []).flatMap((names) => names.split(' '))
  return [...new Set(imported)].filter((name) =>
    !name.startsWith('node:') && !name.startsWith('.') && !builtinModules.includes(name) && !installed.includes(name))
}

/** Accepts every default of `npm create`, and runs the commands that it prints, except the last one. */
async function createApp (machine: Machine, command: string, prompts: readonly string[]): Promise<void> {
  const output = await run(machine, command, '\n'.repeat(prompts.length))
  assert.ok(output.includes(prompts.join(' ')), output)
  const commands = output.match(/(?<=^ {2})\S.*/gm) ?? []
  assert.equal(commands.at(-1), 'npm start')
  await run(machine, commands.slice(0, -1).join(' && '))
}

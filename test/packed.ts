import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Returns the output of a command; if it fails, the assertion shows the output. */
export function run (
  command: string,
  parameters: readonly string[],
  folder: string,
  variables: Readonly<Record<string, string>> = {}
): { status: number | null; output: string } {
  // If the tests run in `npx --call`, npm in the command would repeat that call.
  const { npm_config_call: call, npm_config_package: packages, ...environment } = process.env
  const { status, stdout, stderr, error } = spawnSync(command, parameters, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...environment, ...variables, NODE_OPTIONS: '' },
    maxBuffer: 256 * 2 ** 20
  })
  return { status, output: `${stdout}${stderr}${error ?? ''}` }
}

/** Packs the repository after a build in a clean folder, so that no files of earlier builds are included. */
export function pack (scratch: string): { tarball: string; files: string[]; size: number } {
  const folder = join(scratch, 'repository')
  mkdirSync(folder)
  for (const name of readdirSync(root).filter((name) => !/^(\.git|\.tap|node_modules|dist)$/.test(name))) {
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: (path) => basename(path) !== 'node_modules' })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', scratch], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe']
  })
  // The output of the build precedes the JSON.
  const [{ filename, files, size }] = JSON.parse(output.slice(output.search(/^\[$/m))) as [
    { filename: string; files: Array<{ path: string }>; size: number }
  ]
  return { tarball: join(scratch, filename), files: files.map(({ path }) => path), size }
}

/** Installs a packed library in a folder, and links its dependencies and these packages from the repository. */
export function install (folder: string, tarball: string, packages: readonly string[]): void {
  const own = join(folder, 'node_modules/fastify-collections')
  mkdirSync(own, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', own])
  const { dependencies } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of new Set([...Object.keys(dependencies), ...packages])) {
    const place = join(folder, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), place)
  }
}

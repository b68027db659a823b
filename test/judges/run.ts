import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { example, isInstalled, scratch } from '../example.ts'
import { checkClients, checkVersions } from './clients.ts'
import { lintExample } from '../all/lint.ts'

// Programs that judge the example service from the outside: `npm run judges`. They are installed at the first run.

const folder = fileURLToPath(new URL('.', import.meta.url))

function install (): void {
  if (existsSync(join(folder, 'node_modules'))) return
  const options = ['--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error('The judges cannot be installed. Check the connection to the npm registry.')
}

const ada = '01900000-0000-7000-8000-000000000001'

/** Pages of every kind: lists, items, forms, custom views and problems. */
const paths = [
  '/users',
  '/users?limit=1&count=true&sort=-name&q=a&email.like=*',
  '/users?nothing=1',
  `/users/${ada}`,
  `/users/${ada}?fields=name`,
  `/users/${ada}/articles`,
  '/users/none',
  '/articles',
  '/articles/01900000-0000-7000-8000-000000000011?expand=author',
  '/products',
  '/products?q=nothing',
  '/products/loom-3'
]

/** The Nu HTML checker of the W3C. Returns its messages. */
async function checkPages (address: string): Promise<string[]> {
  if (!isInstalled('java')) return ['The Nu HTML checker needs Java: apt-get install default-jre-headless']
  const pages = join(scratch(), 'pages')
  mkdirSync(pages)
  for (const [index, path] of paths.entries()) {
    const response = await fetch(address + path, { headers: { accept: 'text/html' } })
    if (!response.headers.get('content-type')?.startsWith('text/html')) return [`${path} is no page`]
    writeFileSync(join(pages, `${index}.html`), await response.text())
  }
  const jar = join(folder, 'node_modules/vnu-jar/build/dist/vnu.jar')
  const { stdout, stderr, status } = spawnSync('java', ['-jar', jar, '--stdout', '--format', 'gnu', pages], {
    encoding: 'utf8'
  })
  if (stdout === '' && status !== 0) return [stderr]
  const messages = stdout.split('\n').filter((line) => line !== '')
  return messages.map((line) => line.replace(/^.*\/(\d+)\.html"?/, (_, index) => paths[Number(index)]!))
}

install()
const { child, address } = await example()
const results = [
  { name: `Nu HTML checker, ${paths.length} pages`, messages: await checkPages(address) },
  ...await lintExample(address),
  ...await checkClients(address),
  ...await checkVersions()
]
child.kill()
for (const { name, messages } of results) {
  console.log(`${name}: ${messages.length} messages`)
  for (const message of messages) console.log(`  ${message}`)
  if (messages.length > 0) process.exitCode = 1
}

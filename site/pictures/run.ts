import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { diagrams } from './diagrams.ts'

// Draws the pictures of docs/: `npm run docs:pictures`. Diagrams come from diagrams.ts; others are screenshots of the
// example service in Chromium.

const root = fileURLToPath(new URL('../..', import.meta.url))
const shown = 'http://localhost:3000'
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

for (const [name, svg] of Object.entries(diagrams)) writeFileSync(join(root, 'docs', name), svg)

const folder = mkdtempSync(join(tmpdir(), 'pictures-'))
const service = spawn(
  process.execPath,
  ['--conditions=fastify-collections-source', 'examples/service/start.js'],
  { cwd: root, env: { ...process.env, PORT: '0', SQLITE_FILE: join(folder, 'service.db') }, stdio: ['ignore', 'pipe', 'inherit'] }
)
try {
  const address = await new Promise<string>((resolve, reject) => {
    let output = ''
    service.stdout.on('data', (chunk) => {
      output += String(chunk)
      const [found] = /http:\/\/[\d.]+:\d+/.exec(output) ?? []
      if (found !== undefined && output.includes('Ctrl+C')) resolve(found)
    })
    service.once('exit', (code) => reject(new Error(`The example service ended with ${code}.`)))
  })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const page = await browser.newPage({ viewport: { width: 1100, height: 560 }, colorScheme: 'light' })
    // The pictures show the port of the docs, whichever is free here.
    await page.route(`${shown}/**`, async (route) => {
      const request = route.request()
      const url = request.url().replace(shown, address)
      const headers = { ...request.headers(), host: new URL(shown).host }
      await route.fulfill({ response: await route.fetch({ url, headers }) })
    })
    await page.goto(`${shown}/users`)
    await page.screenshot({ path: join(root, 'docs/page.png') })
    await page.goto(`${shown}/reference`)
    await page.locator('.opblock-tag-section').first().screenshot({ path: join(root, 'docs/swagger-ui.png') })
  } finally {
    await browser.close()
  }
} finally {
  service.kill()
  rmSync(folder, { recursive: true, force: true })
}

import axe from 'axe-core'
import type { AxeResults } from 'axe-core'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { base, pages, toPath } from './files.ts'
import { serve } from './server.ts'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** The bytes that a page may need at the first visit. */
const budget = 300_000

const settings: Readonly<Record<string, BrowserContextOptions>> = {
  'desktop, light': { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  'phone, dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }
}

interface Findings {
  readonly accessibility: string[]
  readonly errors: string[]
  readonly weight: string[]
  readonly withoutScripts: string[]
  readonly search: string[]
}

export interface BrowserReport extends Findings {
  readonly heaviest: { readonly page: string, readonly bytes: number }
}

/** Visits every page in Chromium. */
export async function checkInBrowser (): Promise<BrowserReport> {
  const { address, close } = await serve()
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  const findings: Findings = { accessibility: [], errors: [], weight: [], withoutScripts: [], search: [] }
  try {
    let heaviest = { page: '', bytes: 0 }
    const texts = new Map<string, string>()
    for (const [name, options] of Object.entries(settings)) {
      for (const path of pages) {
        const { bytes, text } = await visit(browser, options, address, path, (kind, message) => {
          findings[kind].push(`${path} (${name}): ${message}`)
        })
        if (bytes > heaviest.bytes) heaviest = { page: path, bytes }
        if (bytes > budget) findings.weight.push(`${path} (${name}): ${bytes} bytes`)
        if (!texts.has(path)) texts.set(path, text)
      }
    }
    const still = await browser.newContext({ ...settings['desktop, light'], javaScriptEnabled: false })
    for (const path of pages) {
      const page = await still.newPage()
      await page.goto(address + toPath(path))
      if (await readText(page) !== texts.get(path)) findings.withoutScripts.push(`${path}: its text differs`)
      await page.close()
    }
    findings.search.push(...await checkSearch(browser, address))
    return { ...findings, heaviest }
  } finally {
    await browser.close()
    close()
  }
}

type Report = (kind: 'accessibility' | 'errors', message: string) => void

async function visit (browser: Browser, options: BrowserContextOptions, address: string, path: string, report: Report) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error') report('errors', message.text())
  })
  page.on('pageerror', (error) => report('errors', error.message))
  const sizes: Array<Promise<number>> = []
  page.on('requestfinished', (request) => {
    sizes.push(request.sizes().then((size) => size.responseBodySize + size.responseHeadersSize))
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url().replace(address, 'data:'))) report('errors', `loads ${request.url()}`)
  })
  await page.goto(address + toPath(path), { waitUntil: 'load' })
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate('axe.run({ resultTypes: ["violations"], elementRef: false })') as AxeResults
  for (const { id, nodes } of violations) report('accessibility', `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  const text = await readText(page)
  await context.close()
  return { bytes, text }
}

/** The text of the page without its frame, and without the buttons to copy code, which exist only with scripts. */
async function readText (page: Page): Promise<string> {
  const text = await page.locator('.sl-markdown-content').first().innerText()
  return text.replace(/^Copy$/gm, '').replace(/\s+/g, ' ').trim()
}

async function checkSearch (browser: Browser, address: string): Promise<string[]> {
  const page = await browser.newPage()
  await page.goto(address + base)
  await page.locator('button[data-open-modal]').click()
  await page.locator('dialog input').fill('idempotency')
  const found = page.locator('dialog .pagefind-ui__result-link, dialog a[href*="retries"]')
  const texts = await found.first().waitFor({ timeout: 10_000 }).then(() => found.allInnerTexts(), () => [])
  await page.close()
  return texts.length > 0 ? [] : ['A search for "idempotency" finds nothing']
}

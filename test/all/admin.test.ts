import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import cors from '@fastify/cors'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import t, { test } from 'tap'
import type { Test } from 'tap'
import { corsOptions } from '../../lib/index.ts'
import { serveAdmin } from '../client/admin.ts'
import type { Admin } from '../client/admin.ts'
import { root } from '../example.ts'

// react-admin and refine with their data providers in a real browser: two windows edit one record.

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const skip = !existsSync(executablePath) && `there is no browser at ${executablePath}; CHROMIUM can name one`
/** The folder for screenshots of the pages. */
const pictures = process.env['PICTURES']

let browser: Browser | undefined
t.teardown(() => browser?.close())

const scripts = new Map<string, Promise<string>>()

/** Builds the script of a page with all that it imports. */
async function build (name: string): Promise<string> {
  const bundle = await rolldown({
    input: join(root, 'test/all/admin-pages', `${name}.ts`),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    onLog () {}
  })
  const { output } = await bundle.generate({ format: 'iife' })
  await bundle.close()
  return output[0].code
}

interface Site extends Admin {
  /** Opens a page in a window of its own, as another user would. */
  readonly open: (uri: string, origin?: string) => Promise<Window>
  readonly read: (id: number) => Promise<Record<string, unknown>>
}

interface Window {
  readonly page: Page
  /** The requests of collections: `PATCH /articles/1 200`. */
  readonly requests: string[]
}

async function serve (t: Test, name: 'react-admin' | 'refine'): Promise<Site> {
  const script = scripts.get(name) ?? build(name)
  scripts.set(name, script)
  const content = await script
  const admin = await serveAdmin(t, 'sqlite', async (app) => {
    // Pages need to read no header of a response with entries.
    await app.register(cors, { ...corsOptions(), origin: true, exposedHeaders: [] })
    app.get('/page', async (_request, reply) => reply.type('text/html').send(
      '<!DOCTYPE html><title>Admin</title><link rel="icon" href="data:,"><div id="root"></div><script src="/page.js"></script>'
    ))
    app.get('/page.js', async (_request, reply) => reply.type('text/javascript').send(content))
  })
  return {
    ...admin,
    read: async (id) => admin.send('GET', `/articles/${id}`),
    async open (uri, origin = admin.origin) {
      browser ??= await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
      const context = await browser.newContext({ viewport: { width: 900, height: 720 } })
      t.after(() => context.close())
      const page = await context.newPage()
      page.setDefaultTimeout(30_000)
      const requests: string[] = []
      page.on('pageerror', (error) => t.fail(error.message))
      page.on('response', (response) => {
        const { pathname } = new URL(response.url())
        if (/^\/(articles|users)/.test(pathname) && response.request().method() !== 'OPTIONS') {
          requests.push(`${response.request().method()} ${pathname} ${response.status()}`)
        }
      })
      await page.goto(new URL(`/page${uri}`, origin).href)
      return { page, requests }
    }
  }
}

async function picture (page: Page, name: string): Promise<void> {
  if (pictures === undefined) return
  mkdirSync(pictures, { recursive: true })
  await page.waitForTimeout(500)
  await page.screenshot({ path: join(pictures, `${name}.png`) })
}

const stale = 'This record has changed since you opened it. Your changes were not saved.'
const titleOf = (page: Page) => page.locator('input[name=title]')

async function save (page: Page, title: string): Promise<void> {
  await titleOf(page).fill(title)
  await page.getByRole('button', { name: 'Save' }).click()
}

test('react-admin: the second save of two windows is a message, and not an overwrite', { skip }, async (t) => {
  const { open, read } = await serve(t, 'react-admin')
  const [{ page: first }, { page: second, requests }] = [await open('#/articles/50'), await open('#/articles/50')]
  await titleOf(second).waitFor()
  await save(first, 'Of the first window')
  await first.getByText('Element updated').waitFor()
  await save(second, 'Of the second window')
  await second.getByText(stale).waitFor()
  t.equal(requests.at(-1), 'PATCH /articles/50 412')
  t.match(await read(50), { title: 'Of the first window' })
  t.equal(await titleOf(second).inputValue(), 'Of the second window', 'what was typed is still there')
})

test('react-admin on another origin pages and saves without headers of responses', { skip }, async (t) => {
  const { open, read, origin } = await serve(t, 'react-admin')
  const other = origin.replace('127.0.0.1', 'localhost')
  const { page, requests } = await open(`?api=${origin}#/articles?page=2&perPage=10`, other)
  await page.getByText('11-20 of 230').waitFor()
  await page.getByRole('cell', { name: 'Post 215' }).click()
  await save(page, 'Of another origin')
  await page.getByText('Element updated').waitFor()
  t.ok(requests.includes('PATCH /articles/216 200'))
  t.match(await read(216), { title: 'Of another origin' })
})

test('react-admin: Reload shows the other change, and the next save succeeds', { skip }, async (t) => {
  const { open, read, send } = await serve(t, 'react-admin')
  const { page } = await open('?reload&stay#/articles/51')
  await titleOf(page).waitFor()
  await send('PATCH', '/articles/51', { title: 'Changed by another user' })
  await save(page, 'My title')
  await page.getByText(stale).waitFor()
  await picture(page, 'react-admin-stale')
  await page.getByRole('button', { name: 'Reload' }).click()
  await page.waitForFunction("document.querySelector('input[name=title]').value === 'Changed by another user'")
  await titleOf(page).fill('My title again')
  await titleOf(page).press('Enter')
  await page.getByText('Element updated').waitFor()
  t.match(await read(51), { title: 'My title again' })
})

for (const mode of ['optimistic', 'undoable']) {
  test(`react-admin, ${mode}: two saves in a row succeed, and one over another change does not`, { skip }, async (t) => {
    const { open, read, send } = await serve(t, 'react-admin')
    const { page, requests } = await open(`?stay&mode=${mode}#/articles/52`)
    await titleOf(page).waitFor()
    const waitForPatch = (status: number) => page.waitForResponse((response) => {
      return response.request().method() === 'PATCH' && response.status() === status
    })
    let patched = waitForPatch(200)
    await save(page, 'First save')
    if (mode === 'undoable') await page.getByText('Element updated').waitFor()
    await patched
    patched = waitForPatch(200)
    await save(page, 'Second save')
    await patched
    t.match(await read(52), { title: 'Second save' })
    // The form has the result of its own save before the other user changes the record.
    while (!requests.slice(requests.lastIndexOf('PATCH /articles/52 200')).includes('GET /articles/52 200')) {
      await page.waitForTimeout(50)
    }
    await send('PATCH', '/articles/52', { views: 70_000 })
    const refused = waitForPatch(412)
    await save(page, 'Third save')
    await refused
    await page.getByText(stale).waitFor()
    t.match(await read(52), { title: 'Second save', views: 70_000 })
  })
}

test('react-admin: 422 and 409 are shown at the inputs', { skip }, async (t) => {
  const { open, read } = await serve(t, 'react-admin')
  const { page } = await open('#/articles/53')
  await titleOf(page).waitFor()
  await page.locator('input[name=slug]').fill('NO')
  await save(page, 'x')
  const messages = page.locator('.Mui-error.MuiFormHelperText-root')
  await messages.first().waitFor()
  t.match(await messages.allInnerTexts(), [/must have at least 3 characters/, /must match pattern/])
  await page.locator('input[name=slug]').fill('post-1')
  await save(page, 'A good title')
  await page.getByText('must be unique').first().waitFor()
  t.match(await read(53), { title: 'Post 052' })
  const { page: created } = await open('#/articles/create')
  await created.locator('input[name=slug]').fill('post-1')
  await created.locator('input[name=authorId]').fill('ada')
  await save(created, 'Another one')
  await created.getByText('must be unique').first().waitFor()
})

test('react-admin: lists prefetch related items, delete by the tags of rows, and export without them', { skip }, async (t) => {
  const { open, read, send } = await serve(t, 'react-admin')
  const { page, requests } = await open('#/articles')
  await page.getByRole('cell', { name: 'Cyd' }).first().waitFor()
  t.same(requests, ['GET /articles 200'])

  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export' }).click()
  const [head = '', ...rows] = readFileSync(await (await download).path(), 'utf8').split('\n')
  t.notOk(head.includes('$tag'))
  t.equal(rows.length, 230)

  await send('PATCH', '/articles/230', { title: 'Changed by another user' })
  const boxes = page.locator('tbody input[type=checkbox]')
  await boxes.nth(0).click()
  await boxes.nth(1).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText(`1 of 2 failed (230). ${stale}`).waitFor()
  t.match(await read(230), { title: 'Changed by another user' })
  t.match(await read(229), { status: 404 })
})

test('refine: the second save of two windows is a message, also after a refetch', { skip }, async (t) => {
  const { open, read, send } = await serve(t, 'refine')
  const [{ page: first }, { page: second }] = [await open('?id=80'), await open('?id=80')]
  await titleOf(second).waitFor()
  const saved = first.waitForResponse((response) => response.request().method() === 'PATCH')
  await save(first, 'Of the first window')
  t.equal((await saved).status(), 200)
  const refetched = second.waitForResponse((response) => response.url().endsWith('/articles/80'))
  await second.getByRole('button', { name: 'Refetch' }).click()
  await refetched
  await save(second, 'Of the second window')
  await second.getByText(stale).waitFor()
  t.match(await read(80), { title: 'Of the first window' })

  const { page } = await open('?id=81')
  await titleOf(page).waitFor()
  for (const title of ['First save', 'Second save']) {
    const patched = page.waitForResponse((response) => response.request().method() === 'PATCH')
    await save(page, title)
    t.equal((await patched).status(), 200)
  }
  await save(page, 'x')
  await page.getByText('"title":"must have at least 3 characters"').waitFor()
  t.match(await read(81), { title: 'Second save' })

  const { page: list } = await open('')
  await list.getByRole('button', { name: 'Delete 3' }).waitFor()
  await send('PATCH', '/articles/3', { views: 1 })
  await list.getByRole('button', { name: 'Delete 3' }).click()
  await list.getByText(stale).waitFor()
  t.match(await read(3), { id: 3 })
})

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineCollection } from 'astro:content'
import type { Loader } from 'astro/loaders'
import { docsSchema } from '@astrojs/starlight/schema'
import { pageFiles, readPage, resolveLinks, toPath } from './documents.ts'
import { showTabs } from './tabs.ts'

/** Loads the pages. The Markdown has no metadata for the site: the title is its heading. */
const loader: Loader = {
  name: 'documents',
  async load ({ store, watcher, parseData, renderMarkdown, generateDigest }) {
    async function add (file: string) {
      const page = readPage(file)
      const { slug: id, title, description } = page
      const body = showTabs(resolveLinks(page, toPath))
      const filePath = `../${file}`
      // Generated pages are not in the repository.
      const editUrl = id.startsWith('types') ? false : undefined
      const data = await parseData({ id, data: { title, description, editUrl }, filePath })
      const rendered = await renderMarkdown(body, { fileURL: pathToFileURL(join(process.cwd(), filePath)) })
      store.set({ id, data, body, filePath, digest: generateDigest({ title, body }), rendered })
    }
    store.clear()
    await Promise.all(pageFiles.map(add))
    watcher?.add(pageFiles.map((file) => join(process.cwd(), '..', file)))
    watcher?.on('change', async (changed) => {
      const file = pageFiles.find((file) => changed === join(process.cwd(), '..', file))
      if (file !== undefined) await add(file)
    })
  }
}

export const collections = { docs: defineCollection({ loader, schema: docsSchema() }) }

import type { APIRoute } from 'astro'
import { version } from '../address.ts'
import { groups, readPage, toMarkdownPath } from '../documents.ts'

// A list of all pages for language models: https://llmstxt.org

export const GET: APIRoute = ({ site }) => {
  const { title, description } = readPage('README.md')
  const toAddress = (slug: string) =>
    site === undefined ? toMarkdownPath(slug) : new URL(toMarkdownPath(slug), site).href
  const sections = groups.map(({ label, pages }) => [
    `## ${label}`,
    '',
    ...pages.map(({ slug, purpose }) => `- [${readPage(`docs/${slug}.md`).title}](${toAddress(slug)}): ${purpose}`)
  ].join('\n'))
  const overview = `Version ${version}. [README](${toAddress('index')}) has an overview with an example, [types](${toAddress('types')}) the types of each path of the package.`
  return new Response([`# ${title}`, `> ${description}`, overview, ...sections].join('\n\n') + '\n')
}

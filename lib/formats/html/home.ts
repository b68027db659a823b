import type { Home } from '../format.ts'
import { markup } from './markup.ts'
import type { Markup } from './markup.ts'
import { renderPage } from './page.ts'

/** Renders the home document of a service: links to its collections. */
export function renderHome ({ title, path, collections, links }: Home): string {
  const shown = collections.map(({ href, title: name, isTemplate }) => {
    return isTemplate
      ? markup`<li>${name} <code>${href}</code></li>`
      : markup`<li><a href="${href}"><bdi>${name}</bdi></a> <code>${href}</code></li>`
  })
  const list = shown.length === 0 ? markup`<p class="empty">There are no collections.</p>` : markup`<ul>${shown}</ul>`
  return renderPage({
    title,
    trail: [{ href: path, title }],
    content: markup`<h1>${title}</h1>
<nav class="home" aria-label="Collections">
${list}
</nav>`,
    aside: renderLinks(links)
  })
}

const labels: Readonly<Record<string, string>> = {
  'service-desc': 'API description'
}

function renderLinks (links: Home['links']): Markup | undefined {
  const items = links.map(({ href, rel }) => {
    return markup`<li><a href="${href}" rel="${rel}">${labels[rel] ?? rel}</a></li>`
  })
  return items.length === 0 ? undefined : markup`<ul class="aside" aria-label="Service">${items}</ul>`
}

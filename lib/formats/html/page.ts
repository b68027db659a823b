import { hash } from 'node:crypto'
import type { PageContext } from '../format.ts'
import { markup, Markup } from './markup.ts'
import { script } from './script.ts'
import { style } from './style.ts'

interface PageParts {
  readonly title: string
  readonly trail: PageContext['trail']
  readonly content: Markup
  /** The links and the sign-in state beside the breadcrumbs. */
  readonly aside?: Markup | undefined
}

/** Renders a whole document. */
export function renderPage ({ title, trail, content, aside }: PageParts): string {
  return markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">
<style>${new Markup(style)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<nav aria-label="Breadcrumb"><ol>${renderTrail(trail)}</ol></nav>
${aside}
</header>
<main id="content" tabindex="-1">
${content}
<p class="status" role="status"></p>
</main>
<script>${new Markup(script)}</script>
</body>
</html>
`.text
}

/** Renders the link to the description of the API, and who is signed in. */
export function renderAside ({ capabilities, caller }: PageContext): Markup | undefined {
  const { authenticates, description } = capabilities
  const items: Markup[] = []
  if (description !== undefined) {
    items.push(markup`<li><a href="${description}" rel="service-desc">API description</a></li>`)
  }
  if (authenticates) {
    items.push(caller === undefined
      ? markup`<li>Not signed in</li>`
      : markup`<li>Signed in as <bdi class="caller">${caller}</bdi></li>`)
  }
  return items.length === 0 ? undefined : markup`<ul class="aside" aria-label="Service">${items}</ul>`
}

function renderTrail (trail: PageContext['trail']): Markup[] {
  return trail.map(({ href, title }, index) => {
    const current = index === trail.length - 1 && markup` aria-current="page"`
    return markup`<li><a href="${href}"${current}><bdi>${title}</bdi></a></li>`
  })
}

const icon = 'data:image/svg+xml,' + encodeURIComponent(
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>" +
  "<path d='M2 3h12v2H2zm0 4h12v2H2zm0 4h8v2H2z' fill='#567'/></svg>"
)

function hashSource (text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`
}

/** The Content-Security-Policy allows only the style and the script of the page. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src ${hashSource(style)}`,
    `script-src ${hashSource(script)}`,
    "require-trusted-types-for 'script'",
    'img-src data:',
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ].join('; '),
  'referrer-policy': 'same-origin'
}

import { hash } from 'node:crypto'
import type { About } from '../format.ts'
import { markup, Markup } from './escape.ts'
import { script } from './script.ts'
import { style } from './style.ts'

interface Parts {
  readonly title: string
  readonly trail: About['trail']
  readonly content: Markup
  /** RFC 8631. */
  readonly description?: string | undefined
}

/** A whole document. */
export function page ({ title, trail, content, description }: Parts): string {
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
<nav aria-label="Where you are"><ol>${trail.map(({ href, title }, index) => markup`<li><a href="${href}"${index === trail.length - 1 && markup` aria-current="page"`}><bdi>${title}</bdi></a></li>`)}</ol></nav>
${description !== undefined && markup`<a href="${description}" rel="service-desc">API description</a>`}
</header>
<main id="content" tabindex="-1">
${content}
<p class="told" role="status"></p>
</main>
<script>${new Markup(script)}</script>
</body>
</html>
`.text
}

const icon = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path d='M2 3h12v2H2zm0 4h12v2H2zm0 4h8v2H2z' fill='%23567'/></svg>"

function source (text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`
}

/** Nothing runs on a page, and nothing is loaded, but what the library has put there. */
export const fields: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src ${source(style)}`,
    `script-src ${source(script)}`,
    "require-trusted-types-for 'script'",
    'img-src data:',
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ].join('; '),
  'referrer-policy': 'same-origin'
}

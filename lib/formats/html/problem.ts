import { markup } from './markup.ts'
import { renderPage } from './page.ts'

/** Renders a problem (RFC 9457) as a page. */
export function renderProblem ({ title, status, detail, instance }: Readonly<Record<string, unknown>>): string {
  const path = typeof instance === 'string' ? instance : ''
  const name = `${String(status)} ${String(title)}`
  return renderPage({
    title: name,
    trail: buildTrail(path),
    content: markup`<h1>${name}</h1>
<p>${String(detail)}</p>`
  })
}

/** Links to each parent path, because one of them may exist. */
function buildTrail (path: string): Array<{ href: string, title: string }> {
  const segments = path.split('/').slice(1)
  return segments.map((segment, index) => ({ href: `/${segments.slice(0, index + 1).join('/')}`, title: segment }))
}

import type { PageContext } from '../format.ts'
import { escapeShell } from './curl.ts'
import { markup } from './markup.ts'
import type { Markup } from './markup.ts'
import { renderPage } from './page.ts'

/** Renders a problem (RFC 9457) as a page. */
export function renderProblem (problem: Readonly<Record<string, unknown>>): string {
  const { title, status, detail, instance, errors } = problem
  const path = typeof instance === 'string' ? instance : ''
  const name = `${String(status)} ${String(title)}`
  const trail = buildTrail(path)
  const next = renderNextStep(trail, status)
  return renderPage({
    title: name,
    trail,
    content: markup`<h1>${name}</h1>
<p>${String(detail)}</p>${Array.isArray(errors) && renderErrors(errors)}${next && markup`
<p>${next}</p>`}`
  })
}

/** Renders what is invalid in the request. Problems of the app can have errors of any form: those are left out. */
function renderErrors (errors: readonly unknown[]): Markup | undefined {
  const items = errors.flatMap((error) => {
    const { pointer, message } = Object(error) as { pointer?: unknown, message?: unknown }
    if (typeof pointer !== 'string' || typeof message !== 'string') return []
    // An empty pointer is about the whole content.
    return [markup`<li>${pointer !== '' && markup`<code>${pointer}</code> `}${message}</li>`]
  })
  if (items.length === 0) return undefined
  return markup`
<ul>${items}</ul>`
}

/** Links to where the reader can go on. The instance has no query, which is what a 400 of a page is about. */
function renderNextStep (trail: PageContext['trail'], status: unknown): Markup | undefined {
  const [target, parent] = [...trail].reverse()
  if (status === 400 && target !== undefined) {
    return markup`<a href="${target.href}">Open this page without the query</a>`
  }
  if (status === 401) {
    const path = escapeShell(target?.href ?? '')
    return markup`Sign in to the service, then reload this page. A browser sends a cookie or a password, but no token:
with a token, use <code>curl -H 'Authorization: Bearer TOKEN' '<span data-origin></span>${path}'</code>`
  }
  if (status !== 404 || parent === undefined) return undefined
  return markup`<a href="${parent.href}">Go to <bdi>${parent.title}</bdi></a>`
}

/** Links to each parent path, because one of them may exist. */
function buildTrail (path: string): Array<{ href: string, title: string }> {
  const segments = path.split('/').slice(1)
  return segments.map((segment, index) => ({ href: `/${segments.slice(0, index + 1).join('/')}`, title: segment }))
}

import { markup } from './escape.ts'
import { page } from './page.ts'

/** RFC 9457, for a person. */
export function problemPage ({ title, status, detail, instance }: Readonly<Record<string, unknown>>): string {
  const path = typeof instance === 'string' ? instance : ''
  const name = `${String(status)} ${String(title)}`
  return page({
    title: name,
    trail: ways(path),
    content: markup`<h1>${name}</h1>
<p>${String(detail)}</p>`
  })
}

/** The paths above, of which one may lead to where something is. */
function ways (path: string): Array<{ href: string, title: string }> {
  const segments = path.split('/').slice(1)
  return segments.map((segment, index) => ({ href: `/${segments.slice(0, index + 1).join('/')}`, title: segment }))
}

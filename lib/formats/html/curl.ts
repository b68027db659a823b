import type { PageContext } from '../format.ts'
import { markup } from './markup.ts'
import type { Markup } from './markup.ts'

/** Renders the curl command for the same request, and a place for the JSON that it would return. */
export function renderCurl ({ capabilities: { mediaTypes }, origin, path, search }: PageContext): Markup {
  const url = search === '' ? path : `${path}?${search}`
  const type = mediaTypes.find((type) => !type.startsWith('text/html'))
  // The default needs no Accept.
  const accept = type === undefined || type === mediaTypes[0] ? '' : ` -H '${escapeShell(`Accept: ${type}`)}'`
  const target = markup`'<span data-origin>${escapeShell(origin)}</span>${escapeShell(url)}'`
  // A role: `code` itself cannot have a name.
  const command = markup`<code tabindex="0" role="group" aria-labelledby="curl">curl${accept} ${target}</code>`
  // A link cannot request another media type, so the script does.
  const raw = mediaTypes.includes('application/json') && markup`
<details class="raw" data-live hidden>
<summary>Show the JSON</summary><pre tabindex="0" data-json="${url}"></pre>
</details>`
  return markup`<p class="curl"><span id="curl">The same with curl</span> ${command}</p>${raw}`
}

/** Escapes text inside single quotation marks. */
export function escapeShell (text: string): string {
  return text.replaceAll("'", "'\\''")
}

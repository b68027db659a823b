import type { About } from '../format.ts'
import { markup } from './markup.ts'
import type { Markup } from './markup.ts'

/** Renders the curl command for the same request. */
export function renderCurl ({ offer: { mediaTypes }, origin, path, search }: About): Markup {
  const target = escapeShell(search === '' ? path : `${path}?${search}`)
  const type = mediaTypes.find((type) => !type.startsWith('text/html'))
  // The default needs no Accept.
  const accept = type === undefined || type === mediaTypes[0] ? '' : ` -H '${escapeShell(`Accept: ${type}`)}'`
  const url = markup`'<span data-origin>${escapeShell(origin)}</span>${target}'`
  // A role: `code` itself cannot have a name.
  const command = markup`<code tabindex="0" role="group" aria-labelledby="curl">curl${accept} ${url}</code>`
  return markup`<p class="curl"><span id="curl">The same with curl</span> ${command}</p>`
}

/** Escapes text inside single quotation marks. */
function escapeShell (text: string): string {
  return text.replaceAll("'", "'\\''")
}

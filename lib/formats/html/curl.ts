import type { About } from '../format.ts'
import { markup } from './escape.ts'
import type { Markup } from './escape.ts'

/** How a program would ask for the same. */
export function curl ({ offer: { mediaTypes }, origin, path, search }: About): Markup {
  const target = quoted(search === '' ? path : `${path}?${search}`)
  const type = mediaTypes.find(type => !type.startsWith('text/html'))
  // What is the default need not be asked for.
  const accept = type === undefined || type === mediaTypes[0] ? '' : ` -H ${shell(`Accept: ${type}`)}`
  return markup`<p class="curl"><span id="curl">The same with curl</span> <code tabindex="0" aria-labelledby="curl">curl${accept} '<span data-origin>${quoted(origin)}</span>${target}'</code></p>`
}

function shell (text: string): string {
  return `'${quoted(text)}'`
}

/** As it stands within single quotation marks of a shell. */
function quoted (text: string): string {
  return text.replaceAll("'", "'\\''")
}

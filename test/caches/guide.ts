import { readFileSync } from 'node:fs'
import type { Place } from './daemon.ts'

// The configurations are those that docs/caching.md shows, so that what is taught is what is tested.

export const page = readFileSync(new URL('../../docs/caching.md', import.meta.url), 'utf8')

/** The blocks of a language, in the order of the page. */
export function shown (language: 'nginx' | 'vcl' | 'squid'): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((match) => match[1] ?? '')
}

/** The places that the page names, as those of this test run: the app's port, the cache's own port and its folder. */
export function placed (configuration: string, { folder, port }: Place, origin: number): string {
  return configuration
    .replaceAll('3000', String(origin))
    .replaceAll('8080', String(port))
    .replaceAll('/var/cache/collections', folder)
}

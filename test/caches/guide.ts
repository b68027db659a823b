import { readFileSync } from 'node:fs'
import type { Place } from './daemon.ts'

// The configurations are those of docs/caching.md, so that the docs are tested.

export const page = readFileSync(new URL('../../docs/caching.md', import.meta.url), 'utf8')

/** Returns the code blocks of a language, in the order of the page. */
export function readBlocks (language: 'nginx' | 'vcl' | 'squid'): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((match) => match[1] ?? '')
}

/** Replaces the ports and folders of the page by those of this test run. */
export function adaptConfiguration (configuration: string, { folder, port }: Place, origin: number): string {
  return configuration
    .replaceAll('3000', String(origin))
    .replaceAll('8080', String(port))
    .replaceAll('/var/cache/collections', folder)
}

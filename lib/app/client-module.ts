import { readFile } from 'node:fs/promises'
import type { Document } from './document.ts'

// Code on demand: browsers can import the typed client from the service, without a build step.

/** RFC 9239, section 6.1.1. */
const mediaType = 'text/javascript'

/** Reads the module of the client, which imports nothing. In a package it is compiled, in the repository it is not. */
async function readModule (): Promise<string> {
  const isCompiled = import.meta.url.endsWith('.js')
  const file = new URL(isCompiled ? '../client/client.js' : '../client/client.ts', import.meta.url)
  const source = await readFile(file, 'utf8')
  // The source map is not served.
  if (isCompiled) return source.replace(/^\/\/# sourceMappingURL=.*\n?$/m, '')
  // Other runtimes do not have it.
  const { stripTypeScriptTypes } = await import('node:module')
  return stripTypeScriptTypes(source)
}

/** Builds the module of the client as a document, so that it has an entity tag. */
export async function buildClientModule (path: string): Promise<Document> {
  const content = await readModule()
  return { path, mediaTypes: [mediaType], links: () => [], write: () => content }
}

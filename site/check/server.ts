import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { findFile, folder } from './files.ts'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8'
}

/** Serves the built site on the loopback interface, compressed as hosts of static files do. */
export async function serve (): Promise<{ address: string, close: () => void }> {
  const server = createServer((request, response) => {
    const file = findFile(new URL(request.url ?? '', 'http://site').pathname)
    if (file === undefined) {
      response.writeHead(404).end()
      return
    }
    const content = readFileSync(join(folder, file))
    const type = types[extname(file)]
    const compressed = type !== undefined && !type.startsWith('image/png')
    response
      .writeHead(200, {
        'content-type': type ?? 'application/octet-stream',
        ...(compressed && { 'content-encoding': 'gzip' })
      })
      .end(compressed ? gzipSync(content) : content)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// A registry with packed packages, so that `npm install` of the docs installs what would be published. Everything
// else is redirected to the registry of npm's configuration.

export async function startRegistry (tarballs: readonly string[]): Promise<{ address: string; stop: () => void }> {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  const packages = new Map(tarballs.map((tarball) => {
    const manifest = execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' })
    const { name, version, ...rest } = JSON.parse(manifest) as { name: string; version: string }
    return [name, { content: readFileSync(tarball), name, version, ...rest }] as const
  }))
  const server = createServer((request, response) => {
    const [, name = '', file] = (request.url ?? '').split('/')
    const found = packages.get(name)
    if (found === undefined) {
      response.writeHead(307, { location: new URL(request.url ?? '', upstream).href }).end()
    } else if (file !== undefined) {
      response.end(found.content)
    } else {
      const { content, ...manifest } = found
      const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`
      const dist = { tarball: `${address}/${name}/package.tgz`, integrity }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({
        name,
        'dist-tags': { latest: manifest.version },
        versions: { [manifest.version]: { ...manifest, dist } }
      }))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    address,
    stop () {
      server.close()
      server.closeAllConnections()
    }
  }
}

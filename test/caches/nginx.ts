import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Program } from './daemon.ts'
import { adaptConfiguration, readBlocks } from './guide.ts'

/** With `compressing`, as docs/caching.md also shows. */
export function nginx (origin: number, { compressing = false } = {}): Program {
  return {
    name: 'nginx',
    binary: 'nginx',
    async prepare (place) {
      const [caching = '', gzip = ''] = readBlocks('nginx')
      const guide = adaptConfiguration(
        compressing ? caching.replace(/^.*8080;$/m, (line) => `${line}\n${gzip}`) : caching,
        place,
        origin
      )
      const file = join(place.folder, 'nginx.conf')
      await writeFile(file, surroundings(place.folder, guide))
      return ['-c', file, '-e', join(place.folder, 'error.log')]
    }
  }
}

function surroundings (folder: string, guide: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`
  )
  return `
daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 128; }
http {
access_log off;
${temporary.join('\n')}
${guide}
}
`
}

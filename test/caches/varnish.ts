import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Program } from './daemon.ts'
import { adaptConfiguration, readBlocks } from './guide.ts'

export function varnish (origin: number): Program {
  return {
    name: 'varnish',
    binary: 'varnishd',
    async prepare (place) {
      const file = join(place.folder, 'collections.vcl')
      await writeFile(file, adaptConfiguration(readBlocks('vcl').join('\n'), place, origin))
      const work = join(place.folder, 'work')
      return [
        '-F',
        '-j',
        'none',
        '-n',
        work,
        '-T',
        'none',
        '-a',
        `127.0.0.1:${place.port}`,
        '-f',
        file,
        '-s',
        'malloc,16m',
        '-p',
        'vsl_space=1m',
        '-p',
        'thread_pool_min=10'
      ]
    }
  }
}

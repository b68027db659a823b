import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Program } from './daemon.ts'
import { adaptConfiguration, readBlocks } from './guide.ts'

export function squid (origin: number): Program {
  return {
    name: 'squid',
    binary: 'squid',
    async prepare (place) {
      const file = join(place.folder, 'squid.conf')
      await writeFile(
        file,
        `${adaptConfiguration(readBlocks('squid').join('\n'), place, origin)}\n${surroundings(place.folder)}`
      )
      return ['-N', '-n', `collections${place.port}`, '-f', file]
    }
  }
}

function surroundings (folder: string): string {
  return `
pid_filename none
access_log none
cache_log ${folder}/cache.log
cache_store_log none
coredump_dir ${folder}
netdb_filename none
pinger_enable off
max_filedescriptors 1024
visible_hostname localhost
shutdown_lifetime 0 seconds
memory_cache_shared off
${process.getuid?.() === 0 ? 'cache_effective_user proxy' : ''}
`
}

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { folder, pages } from './files.ts'

const jar = fileURLToPath(new URL('../node_modules/vnu-jar/build/dist/vnu.jar', import.meta.url))

/** Returns the messages of the Nu HTML checker of the W3C. */
export function checkHtml (): string[] {
  const paths = pages.map((page) => join(folder, page))
  const { stdout, stderr, status, error } = spawnSync('java', ['-jar', jar, '--stdout', '--format', 'gnu', ...paths], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28
  })
  if (error !== undefined) return ['The Nu HTML checker needs Java: apt-get install default-jre-headless']
  if (stdout === '' && status !== 0) return [stderr]
  return stdout.split('\n').filter((line) => line !== '').map((line) => line.replace(`file:${folder}`, ''))
}

import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import autoload from '@fastify/autoload'
import Fastify from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { registry } from '../lib/app/registry.ts'
import { scratch } from './example.ts'

// Collections in the files of an app that @fastify/autoload loads, as in the apps of fastify-cli.

const source = `
import { Type } from ${JSON.stringify(import.meta.resolve('@sinclair/typebox'))}
import collection, { define } from ${JSON.stringify(import.meta.resolve('../lib/index.ts'))}
import { memory } from ${JSON.stringify(import.meta.resolve('../lib/storage/memory.ts'))}

const schema = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }) })

export default async function (app) {
  await app.register(collection, define({ name: 'users', schema, storage: memory() }))
}
`

async function findPaths (t: Test, file: string, content: string): Promise<string[]> {
  const folder = scratch()
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), content)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  await app.register(autoload, { dir: folder })
  await app.ready()
  return app.collections.map(({ path }) => path)
}

test('a folder with the name of the collection repeats the name in its path, with a warning', async (t) => {
  const warned = once(process, 'warning')
  t.strictSame(await findPaths(t, 'users/index.mjs', source), ['/users/users'])
  const [warning] = (await warned) as [Error]
  t.match(warning, {
    name: 'FastifyCollectionsWarning',
    code: 'FST_COLLECTION_REPEATED_NAME',
    message: /^Collection users: it is served at \/users\/users, .*rename users\/index to users, or export autoPrefix = ''/
  })
})

test('a file with the name of the collection, or an empty autoPrefix, does not repeat it', async (t) => {
  const fail = (warning: Error): void => { t.fail(warning.message) }
  process.on('warning', fail)
  t.teardown(() => process.off('warning', fail))
  t.strictSame(await findPaths(t, 'users.mjs', source), ['/users'])
  t.strictSame(await findPaths(t, 'users/index.mjs', `${source}\nexport const autoPrefix = ''`), ['/users'])
  t.strictSame(await findPaths(t, 'v1/users.mjs', source), ['/v1/users'])
})

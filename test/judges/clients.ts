import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import collection, { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { root, scratch } from '../example.ts'

// Clients that are generated from the document of the example service compile in strict mode, and call each operation.

/** A collection of the example service, and what to send to it. The texts are TypeScript. */
interface Target {
  /** What operation ids begin with. */
  readonly name: string
  readonly path: string
  /** The parameters of the path. */
  readonly parent?: string
  readonly content: string
  readonly change: string
  /** The id of the created item, which is `made`. */
  readonly id: string
  /** A custom action of items, which needs no input. */
  readonly action?: string
}

const ada = '01900000-0000-7000-8000-000000000001'

const targets: readonly Target[] = [
  {
    name: 'users',
    path: '/users',
    content: "{ email: 'client@example.com', name: 'Client', password: 'a-password', role: 'member' }",
    change: "{ role: 'admin' }",
    id: 'made.id'
  },
  {
    name: 'articles',
    path: '/articles',
    content: `{ authorId: '${ada}', title: 'Clients', text: 'Generated' }`,
    change: "{ title: 'Generated clients' }",
    id: 'made.id',
    action: 'publish'
  },
  {
    name: 'users.parent.articles',
    path: '/users/{parent}/articles',
    parent: ada,
    content: `{ authorId: '${ada}', title: 'Nested', text: 'Generated' }`,
    change: "{ title: 'Nested clients' }",
    id: 'made.id'
  },
  {
    name: 'products',
    path: '/products',
    content: "{ sku: 'client-1', name: 'Client', price: '1.00', stock: 1 }",
    change: '{ stock: 2 }',
    // A POST can create several products as well.
    id: '(Array.isArray(made) ? made[0]?.sku : made.sku) ?? fail()'
  }
]

const statuses = { create: 201, list: 200, read: 200, replace: 200, update: 200, remove: 204, publish: 200 }

interface Generator {
  readonly name: string
  /** Generates the client into a folder that has `openapi.json`. */
  readonly generate: (folder: string, address: string) => { status: number | null, stdout: string, stderr: string }
  /** The imports and declarations of the program. */
  readonly head: string
  /** The statements that call the operations, each followed by `report(operation, status)`. */
  readonly body: (target: Target) => string
}

/** `users.parent.articles`, `create` -> `usersParentArticlesCreate`. */
function toFunctionName (target: Target, operation: string): string {
  return `${target.name}.${operation}`.replace(/\.(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function runProgram (folder: string, program: string, parameters: readonly string[]): ReturnType<Generator['generate']> {
  const env = { ...process.env, DO_NOT_TRACK: '1', CI: 'true' }
  return spawnSync(process.execPath, [program, ...parameters], { cwd: folder, env, encoding: 'utf8' })
}

const installed = new URL('node_modules/', import.meta.url).pathname

const openapiFetch: Generator = {
  name: 'openapi-typescript and openapi-fetch',
  generate: (folder) => {
    const program = join(root, 'test/all/node_modules/openapi-typescript/bin/cli.js')
    return runProgram(folder, program, ['openapi.json', '--default-non-nullable', 'false', '-o', 'service.ts'])
  },
  head: `
import createClient from 'openapi-fetch'
import type { paths } from './service.js'
const client = createClient<paths, 'application/json' | 'application/problem+json'>({
  baseUrl: address,
  querySerializer: { array: { style: 'form', explode: false } }
})`,
  body: ({ path, parent, content, change, id, action }) => {
    const parents = parent === undefined ? '' : `parent: '${parent}'`
    const inPath = parent === undefined ? '' : `path: { ${parents} },`
    return `
const created = await client.POST('${path}', { params: { ${inPath} }, body: ${content} })
report('create', created.response.status)
const made = created.data ?? fail()
const path = { id: ${id}, ${parents} }
const list = await client.GET('${path}', {
  params: { ${inPath} query: { limit: 1, sort: ['-updatedAt'], 'updatedAt.gte': '2020-01-01T00:00:00Z' } }
})
report('list', list.response.status)
if (list.data?.length !== 1) fail()
const read = await client.GET('${path}/{id}', { params: { path } })
report('read', read.response.status)
const header = { 'If-Match': read.response.headers.get('etag') ?? fail() }
const replaced = await client.PUT('${path}/{id}', { params: { path, header }, body: ${content} })
report('replace', replaced.response.status)
const updated = await client.PATCH('${path}/{id}', {
  params: { path, header: { 'If-Match': '*' } },
  headers: { 'Content-Type': 'application/merge-patch+json' },
  body: ${change}
})
report('update', updated.response.status)
${action === undefined
  ? ''
  : `
const acted = await client.POST('${path}/{id}/${action}', { params: { path }, body: {} })
report('${action}', acted.response.status)`}
const removed = await client.DELETE('${path}/{id}', { params: { path, header: { 'If-Match': '*' } } })
report('remove', removed.response.status)`
  }
}

const heyApi: Generator = {
  name: '@hey-api/openapi-ts',
  generate: (folder) => {
    const program = join(installed, '@hey-api/openapi-ts/bin/run.js')
    return runProgram(folder, program, ['-i', 'openapi.json', '-o', 'service', '--no-log-file'])
  },
  head: `
import { client } from './service/client.gen.js'
import * as service from './service/index.js'
client.setConfig({ baseUrl: address })`,
  body: (target) => {
    const call = (operation: string): string => `await service.${toFunctionName(target, operation)}`
    const { parent, content, change, id, action } = target
    const parents = parent === undefined ? '' : `parent: '${parent}'`
    const path = parent === undefined ? '' : `path: { ${parents} },`
    return `
const created = ${call('create')}({ ${path} body: ${content} })
report('create', created.response?.status)
const made = created.data ?? fail()
const path = { id: ${id}, ${parents} }
const list = ${call('list')}({
  ${path}
  query: { limit: 1, sort: ['-updatedAt'], 'updatedAt.gte': '2020-01-01T00:00:00Z' }
})
report('list', list.response?.status)
if (list.data?.length !== 1) fail()
const read = ${call('read')}({ path })
report('read', read.response?.status)
const headers = { 'If-Match': read.response?.headers.get('etag') ?? fail() }
const replaced = ${call('replace')}({ path, headers, body: ${content} })
report('replace', replaced.response?.status)
const updated = ${call('update')}({ path, headers: { 'If-Match': '*' }, body: ${change} })
report('update', updated.response?.status)
${action === undefined
  ? ''
  : `
const acted = ${call(action)}({ path, body: {} })
report('${action}', acted.response?.status)`}
const removed = ${call('remove')}({ path, headers: { 'If-Match': '*' } })
report('remove', removed.response?.status)`
  }
}

const orval: Generator = {
  name: 'orval',
  generate: (folder, address) => {
    const output = {
      target: './service.ts',
      client: 'fetch',
      baseUrl: address,
      headers: true,
      override: { contentType: { include: ['application/json', 'application/merge-patch+json', 'application/problem+json'] } }
    }
    const config = { service: { input: { target: './openapi.json' }, output } }
    writeFileSync(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(config)}\n`)
    return runProgram(folder, join(installed, '.bin/orval'), ['--config', 'orval.config.mjs'])
  },
  head: "import * as service from './service.js'",
  body: (target) => {
    const call = (operation: string): string => `await service.${toFunctionName(target, operation)}`
    const { parent, content, change, id, action } = target
    const parents = parent === undefined ? '' : `'${parent}', `
    return `
const created = ${call('create')}(${parents}${content})
report('create', created.status)
const made = created.status === 201 ? created.data : fail()
const id = ${id}
const query = { limit: 1, sort: ['-updatedAt' as const], 'updatedAt.gte': '2020-01-01T00:00:00Z' }
const list = ${call('list')}(${parents}query)
report('list', list.status)
if (list.status !== 200 || list.data.length !== 1) fail()
const read = ${call('read')}(${parents}id)
report('read', read.status)
const headers = { 'If-Match': read.headers.get('etag') ?? fail() }
const replaced = ${call('replace')}(${parents}id, ${content}, headers)
report('replace', replaced.status)
const updated = ${call('update')}(${parents}id, ${change}, { 'If-Match': '*' })
report('update', updated.status)
${action === undefined
  ? ''
  : `
const acted = ${call(action)}(${parents}id, {})
report('${action}', acted.status)`}
const removed = ${call('remove')}(${parents}id, { 'If-Match': '*' })
report('remove', removed.status)`
  }
}

function writeProgram ({ head, body }: Generator): string {
  return `
const address = process.argv[2] ?? fail()
function fail (): never {
  throw new Error('A call failed')
}
${head}
${targets.map((target) => `
{
  const report = (operation: string, status: number | undefined): void => {
    console.log('${target.name}.' + operation, status)
  }
  ${body(target)}
}`).join('\n')}
`
}

const compilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  target: 'es2023',
  module: 'nodenext',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: ['node'],
  outDir: 'out',
  rootDir: '.',
  skipLibCheck: true
}

/** Generates the clients, and returns what is wrong with each. */
export async function checkClients (address: string): Promise<Array<{ name: string, messages: string[] }>> {
  const source = await (await fetch(`${address}/reference/json`)).text()
  const { paths } = JSON.parse(source) as { paths: Record<string, Record<string, { operationId: string }>> }
  const operations = Object.values(paths).flatMap((item) => Object.values(item)).map(({ operationId }) => operationId)
  return [openapiFetch, heyApi, orval].map((generator) => {
    const folder = scratch()
    return { name: `${generator.name}, ${operations.length} operations`, messages: checkClient(generator, { folder, address, source, operations }) }
  })
}

/** Schemas that generators find difficult. */
const things = define({
  name: 'things',
  schema: Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    anything: Type.Optional(Type.Unknown()),
    either: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
    pair: Type.Optional(Type.Tuple([Type.String(), Type.Integer()])),
    scores: Type.Optional(Type.Record(Type.String(), Type.Integer())),
    kind: Type.Optional(Type.Literal('thing'))
  }),
  storage: memory()
})

/** Generates clients from documents of the other versions of OpenAPI, and returns what does not compile. */
export async function checkVersions (): Promise<Array<{ name: string, messages: string[] }>> {
  const results = []
  for (const version of ['3.0.3', '3.2.0']) {
    const app = Fastify()
    await app.register(swagger, { openapi: { openapi: version, info: { title: 'Things', version: '1.0.0' } } })
    await app.register(collection, things)
    await app.ready()
    const source = JSON.stringify(app.swagger())
    await app.close()
    for (const generator of [openapiFetch, heyApi, orval]) {
      const messages = compileClient(generator, { folder: scratch(), address: 'http://localhost', source })
      results.push({ name: `${generator.name}, OpenAPI ${version}`, messages })
    }
  }
  return results
}

interface ClientCheck {
  readonly folder: string
  readonly address: string
  readonly source: string
  readonly operations: readonly string[]
}

/** Generates a client into a folder, and returns what the generator or the compiler reports. */
function compileClient (generator: Generator, { folder, address, source }: Omit<ClientCheck, 'operations'>): string[] {
  writeFileSync(join(folder, 'openapi.json'), source)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts'] }))
  mkdirSync(join(folder, 'node_modules'))
  for (const [installed, name] of [['node_modules', '@types'], ['test/all/node_modules', 'openapi-fetch']] as const) {
    symlinkSync(join(root, installed, name), join(folder, 'node_modules', name))
  }
  const generated = generator.generate(folder, address)
  if (generated.status !== 0) return [`The client is not generated: ${generated.stdout}${generated.stderr}`]
  const compiled = runProgram(folder, join(root, 'node_modules/typescript/bin/tsc'), ['-p', '.'])
  return compiled.status === 0 ? [] : compiled.stdout.split('\n')
}

function checkClient (generator: Generator, { operations, ...check }: ClientCheck): string[] {
  const { folder, address } = check
  writeFileSync(join(folder, 'program.ts'), writeProgram(generator))
  const errors = compileClient(generator, check)
  if (errors.length > 0) return errors
  const { stdout, stderr } = runProgram(folder, join(folder, 'out/program.js'), [address])
  const reported = new Map(stdout.split('\n').map((line) => line.split(' ') as [string, string]))
  const messages = operations.flatMap((id) => {
    const expected = statuses[id.split('.').at(-1) as keyof typeof statuses]
    const status = reported.get(id)
    return status === String(expected) ? [] : [`${id}: ${status ?? 'not called'}, not ${expected}`]
  })
  return stderr === '' ? messages : [...messages, stderr]
}

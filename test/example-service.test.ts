import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import type { Test } from 'tap'
import {
  alone,
  collectOutput,
  waitForEnd,
  example,
  isInstalled,
  machineNode,
  parameters,
  root,
  run,
  scratch
} from './example.ts'
import { noMysql, mysqlPool } from './storage/databases.ts'
import { freePort } from './ports.ts'
import { isOpen, isRoot, startPostgres } from './storage/servers.ts'

/** A process of another user needs them. */
const folders = [root, tmpdir(), dirname(process.execPath)]

const asJson = { 'content-type': 'application/json' }

test('the service prints three commands to try, and each succeeds', async (t) => {
  const { child, output } = await example()
  t.teardown(() => child.kill())
  const lines = [...output().matchAll(/curl -i (\S+)(?: --json '(.*)')?/g)]
  t.equal(lines.length, 3)
  for (const [, url, content] of lines) {
    const { status } = await fetch(
      url!,
      content === undefined ? {} : { method: 'POST', headers: asJson, body: content }
    )
    t.equal(status, content === undefined ? 200 : 201)
  }
  const [, users, reference] = /In a browser: (\S+), and the reference at (\S+)\n/.exec(output())!
  const collection = await fetch(users!, {
    headers: { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  })
  t.match(collection.headers.get('content-type'), 'text/html')
  const page = await (await fetch(reference!)).text()
  const home = (await (await fetch(new URL('/', reference))).json()) as {
    _links: { collection: Array<{ href: string }> }
  }
  t.same(
    home._links.collection.map(({ href }) => href).filter((href) => !href.includes('{')),
    ['/users', '/articles', '/products']
  )
  t.notMatch(page, /(src|href)="(https?:)?\/\//, 'the reference is served offline')
  t.equal((await fetch(`${reference}/json`)).status, 200)
})

test('written items survive a restart, and the initial items are not created twice', async (t) => {
  const first = await example()
  const created = await fetch(`${first.address}/users`, {
    method: 'POST',
    headers: asJson,
    body: '{ "email": "alan@example.com", "name": "Alan", "password": "enigma-1942" }'
  })
  t.equal(created.status, 201)
  await fetch(`${first.address}/users/01900000-0000-7000-8000-000000000002`, { method: 'DELETE' })
  first.child.kill('SIGTERM')
  t.equal((await waitForEnd(first)).status, 0)
  const second = await example({ SQLITE_FILE: first.file })
  t.teardown(() => second.child.kill())
  const users = (await (await fetch(`${second.address}/users`)).json()) as Array<{ name: string }>
  t.same(
    users.map(({ name }) => name),
    ['Ada', 'Alan']
  )
})

test('an article is published by its custom action, once, and not by a PATCH', async (t) => {
  const { child, address } = await example()
  t.teardown(() => child.kill())
  const draft = `${address}/articles/01900000-0000-7000-8000-000000000012`
  const patch = { 'content-type': 'application/merge-patch+json' }
  t.equal((await fetch(draft, { method: 'PATCH', headers: patch, body: '{ "status": "published" }' })).status, 422)
  const showPage = async () => (await fetch(draft, { headers: { accept: 'text/html' } })).text()
  t.match(await showPage(), '>Publish</button>')
  const published = await fetch(`${draft}/publish`, { method: 'POST' })
  t.equal(published.status, 200)
  t.match(await published.json(), { title: 'The first bug', status: 'published' })
  t.notMatch(await showPage(), '>Publish</button>')
  const again = await fetch(`${draft}/publish`, { method: 'POST' })
  t.equal(again.status, 409)
  t.match(await again.json(), { detail: 'The article is published already.' })
})

test('SIGTERM completes running requests, closes the database file and exits with 0', async (t) => {
  const running = await example()
  const { hostname, port } = new URL(running.address)
  const socket = connect(Number(port), hostname)
  const answer = collectOutput(socket)
  await once(socket, 'connect')
  const content = '{ "sku": "lamp-1", "name": "Lamp", "price": "9.90" }'
  const headers = [
    'POST /products HTTP/1.1', `Host: ${hostname}`, 'Content-Type: application/json', `Content-Length: ${content.length}`,
    // The response to it shows that the request is running.
    'Expect: 100-continue'
  ]
  socket.write(`${headers.join('\r\n')}\r\n\r\n${content.slice(0, 20)}`)
  await once(socket, 'data')
  running.child.kill('SIGTERM')
  const isServed = () => fetch(running.address).then(() => true, () => false)
  while (await isServed()) await delay(20)
  t.ok(existsSync(`${running.file}-wal`), 'the file is still open')
  socket.write(content.slice(20))
  t.equal((await waitForEnd(running)).status, 0)
  t.match(answer(), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 Created\r\n/)
  t.notOk(existsSync(`${running.file}-wal`), 'SQLite removes its log when the file is closed')
  const again = await example({ SQLITE_FILE: running.file })
  t.teardown(() => again.child.kill())
  t.equal((await fetch(`${again.address}/products/lamp-1`)).status, 200)
})

test('SIGTERM to `npm start` ends the service, and npm waits for it', async (t) => {
  const environment = { PORT: '0', SQLITE_FILE: join(scratch(), 'service.db') }
  const running = alone('npm', ['start'], { cwd: root, environment })
  t.teardown(() => running.child.kill())
  while (!running.output().includes('Ctrl+C')) await once(running.child.stdout!, 'data')
  const [address] = /http:\/\/[\d.]+:\d+/.exec(running.output())!
  const ended = waitForEnd(running)
  running.child.kill('SIGTERM')
  t.equal((await ended).status, 0)
  await t.rejects(fetch(address), 'nothing listens any more')
})

test('without settings the service listens on port 3000 of localhost', async (t) => {
  const running = run({ environment: { SQLITE_FILE: join(scratch(), 'service.db') } })
  running.child.stdout?.on('data', () => {
    if (running.output().includes('Ctrl+C')) running.child.kill('SIGTERM')
  })
  const { output, errors } = await waitForEnd(running)
  // Another service may use the port.
  t.match(
    output + errors,
    /Listening at http:\/\/127\.0\.0\.1:3000, with the SQLite file |Port 3000 at 127\.0\.0\.1 is in use already/
  )
})

test('SEED creates many products and prints one progress line if there is no terminal', async (t) => {
  const { child, address, errors } = await example({ SEED: '1200' })
  t.teardown(() => child.kill())
  t.equal(errors(), 'Seeding products: 1200 of 1200\n')
  t.equal((await fetch(`${address}/products?limit=1&count=true`)).headers.get('x-total-count'), '1202')
})

test(
  'on a terminal the progress line is updated in place, in color unless NO_COLOR is set',
  { skip: isInstalled('script') ? false : 'there is no script(1) to make a terminal' },
  async (t) => {
    for (const [environment, colours] of [
      [{}, true],
      [{ NO_COLOR: '1' }, false]
    ] as const) {
      const line = [process.execPath, ...parameters].join(' ')
      const { child, output } = alone('script', ['-qefc', line, '/dev/null'], {
        cwd: root,
        environment: {
          TERM: 'xterm',
          PORT: '0',
          SEED: '1200',
          SQLITE_FILE: join(scratch(), 'service.db'),
          ...environment
        }
      })
      await new Promise<void>((resolve) =>
        child.stdout?.on('data', () => {
          if (output().includes('Ctrl+C')) resolve()
        })
      )
      // As Ctrl+C of the terminal does.
      child.stdin?.write('\x03')
      await once(child, 'close')
      t.match(output(), '\rSeeding products: 500 of 1200 (41 %)')
      t.equal(output().includes('\x1b['), colours)
    }
  }
)

test('the service works the same on PostgreSQL', async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.end())
  const url = `postgres://postgres:postgres@127.0.0.1:${server.port}/postgres`
  await checkDatabaseError(t, { DATABASE_URL: url }, `the database postgres://127.0.0.1:${server.port}/postgres`)
  const refused = await waitForEnd(
    run({ environment: { PORT: '0', DATABASE_URL: url.replace(':postgres@', ':wrong@') } })
  )
  t.equal(refused.status, 1)
  t.match(
    refused.errors,
    /^The database postgres:\/\/127\.0\.0\.1:\d+\/postgres cannot be used: password authentication failed.*\n$/
  )
  const missing = await waitForEnd(
    run({ environment: { PORT: '0', DATABASE_URL: url.replace(/postgres$/, 'nowhere') } })
  )
  t.match(missing, { status: 1, errors: /^The database .* cannot be used: database "nowhere" does not exist.*\n$/ })
})

test('the service works the same on MariaDB', { skip: noMysql }, async (t) => {
  const { name, end } = await mysqlPool()
  t.teardown(() => end())
  const url = new URL(process.env['MYSQL_URL'] ?? '')
  url.pathname = `/${name}`
  await checkDatabaseError(t, { DATABASE_URL: url.href }, `the database mysql://${url.host}/${name}`)
  await checkDatabaseError(
    t,
    { DATABASE_URL: url.href.replace('mysql:', 'mariadb:') },
    `the database mariadb://${url.host}/${name}`
  )
})

async function checkDatabaseError (t: Test, environment: Record<string, string>, where: string): Promise<void> {
  const running = await example(environment)
  t.match(running.output(), `with ${where}\n`)
  t.notMatch(running.output(), /:\w+@/, 'the output has no password')
  const users = (await (await fetch(`${running.address}/users`)).json()) as Array<{ name: string }>
  t.same(
    users.map(({ name }) => name),
    ['Ada', 'Grace']
  )
  const articles = (await (await fetch(`${running.address}/articles?expand=author`)).json()) as Array<{
    author: { name: string }
  }>
  t.same(
    articles.map(({ author }) => author.name),
    ['Ada', 'Grace']
  )
  running.child.kill('SIGTERM')
  t.match(await waitForEnd(running), { status: 0, errors: '' })
}

// Bad settings: one sentence, no stack, and an exit code that is not 0.

test('an invalid setting is reported in one sentence', async (t) => {
  const file = join(scratch(), 'service.db')
  const wrong =
    'DATABASE_URL names no database. Write postgres://user:password@host:5432/name or mysql://user:password@host:3306/name, or leave it out for SQLite.'
  const cases: ReadonlyArray<readonly [Record<string, string>, string]> = [
    [{ PORT: 'x' }, 'PORT is "x". Make it a number from 0 to 65535.'],
    [{ PORT: '65536' }, 'PORT is "65536". Make it a number from 0 to 65535.'],
    [{ SEED: '-1' }, 'SEED is "-1". Make it a number from 0 to 1000000.'],
    [{ DATABASE_URL: 'nonsense' }, wrong],
    [{ DATABASE_URL: 'http://localhost/app' }, wrong],
    [{ DATABASE_URL: 'postgres://localhost' }, wrong]
  ]
  for (const [environment, sentence] of cases) {
    t.same(await waitForEnd(run({ environment: { SQLITE_FILE: file, ...environment } })), {
      status: 1,
      output: '',
      errors: `${sentence}\n`
    })
  }
  t.notOk(existsSync(file), 'no file is created before all settings are valid')
})

test('an unreachable database is reported in one sentence', async (t) => {
  for (const scheme of ['postgres', 'mysql']) {
    const port = await freePort()
    const { status, errors } = await waitForEnd(
      run({ environment: { PORT: '0', DATABASE_URL: `${scheme}://user:secret@localhost:${port}/app` } })
    )
    t.equal(status, 1)
    t.match(
      errors,
      new RegExp(
        `^The database ${scheme}://localhost:${port}/app cannot be used: .*ECONNREFUSED.*Check that it runs, and that DATABASE_URL or SQLITE_FILE is right\\.\\n$`
      )
    )
    t.notMatch(errors, 'secret')
  }
})

test('a port in use or an address of another machine is reported in one sentence', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const file = join(scratch(), 'service.db')
  t.same(await waitForEnd(run({ environment: { PORT: port, SQLITE_FILE: file } })), {
    status: 1,
    output: '',
    errors: `Port ${port} at 127.0.0.1 is in use already. Choose another: PORT=3001 npm start\n`
  })
  t.notOk(existsSync(`${file}-wal`), 'the file is closed')
  t.match(await waitForEnd(run({ environment: { PORT: '0', HOST: '192.0.2.1', SQLITE_FILE: file } })), {
    status: 1,
    errors: /^The service cannot listen at 192\.0\.2\.1, port 0: .*\n$/
  })
})

test(
  'a folder or file that is not writable is reported in one sentence',
  { skip: isRoot && !folders.every(isOpen) && 'only root can enter this folder, TMPDIR or that of Node.js' },
  async (t) => {
    const folder = join(scratch(), 'kept')
    mkdirSync(folder)
    const file = join(folder, 'service.db')
    // root may write anywhere, so the service runs as another user.
    const identity = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
    chmodSync(join(folder, '..'), 0o755)
    chmodSync(folder, 0o555)
    t.same(await waitForEnd(run({ environment: { PORT: '0', SQLITE_FILE: file }, ...identity })), {
      status: 1,
      output: '',
      errors: `The SQLite file ${file} cannot be opened: unable to open database file. Name one that can be written: SQLITE_FILE=/tmp/service.db npm start\n`
    })
    chmodSync(folder, 0o755)
    const first = await example({ SQLITE_FILE: file })
    first.child.kill('SIGTERM')
    await waitForEnd(first)
    chmodSync(file, 0o444)
    chmodSync(folder, 0o555)
    t.match(await waitForEnd(run({ environment: { PORT: '0', SQLITE_FILE: file }, ...identity })), {
      status: 1,
      output: '',
      errors: /^The SQLite file .* cannot be (opened|used): .*readonly database.*\n$/
    })
    chmodSync(folder, 0o755)
  }
)

test('a file that is not a database is reported in one sentence', async (t) => {
  t.match(await waitForEnd(run({ environment: { PORT: '0', SQLITE_FILE: join(root, 'package.json') } })), {
    status: 1,
    output: '',
    errors: /^The SQLite file .*package\.json cannot be opened: file is not a database\. .*\n$/
  })
})

test(
  'a Node.js version that is too old is reported in one sentence',
  {
    skip:
      machineNode === undefined || !(await version(machineNode)).startsWith('v20')
        ? 'the Node of this machine can run it'
        : false
  },
  async (t) => {
    const { status, errors } = await waitForEnd(run({ node: machineNode! }))
    t.equal(status, 1)
    t.match(
      errors,
      /^This is Node\.js 20\.\d+\.\d+, and the service needs 22\.18 or newer\. `npm ci` brings one, and `npm start` uses it\.\n$/
    )
  }
)

async function version (node: string): Promise<string> {
  return (await waitForEnd(alone(node, ['--version']))).output
}

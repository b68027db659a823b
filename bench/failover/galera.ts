// MariaDB Galera with three servers, and HAProxy in front of them, which sends connections to all that are in sync.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import driver, { type Connection, type RowDataPacket } from 'mysql2/promise'
import { startBalancer } from './balancer.ts'
import type { Cluster, Fault } from './cluster.ts'
import type { Order } from './orders.ts'
import { Programs, waitFor, type Needed, type Program } from './programs.ts'

const provider = '/usr/lib/galera/libgalera_smm.so'

export const needed: Needed = {
  mariadbd: 'mariadb-server',
  'mariadb-install-db': 'mariadb-server',
  [provider]: 'galera-4',
  haproxy: 'haproxy',
  rsync: 'rsync',
  lsof: 'lsof'
}

interface Ports {
  readonly name: string
  readonly port: number
  /** For the other servers of the cluster. */
  readonly group: number
  /** For the changes that a server has missed, and for all of its data. */
  readonly missed: number
  readonly transfer: number
}

interface Node extends Ports {
  readonly args: readonly string[]
  program: Program
}

export interface GaleraCluster extends Cluster {
  /** The URL of each server itself. */
  readonly urls: readonly string[]
  /** The machine of a server loses its power, and starts again later. */
  killServer (): Fault
  /** A server loses its connections to the others, but not those to its clients. */
  isolateServer (): Fault
  /** The machine of a server stops, and continues later: its connections are silent, neither open nor reset. */
  freezeServer (): Fault
}

export async function startGaleraCluster (): Promise<GaleraCluster> {
  const programs = await Programs.create('mysql')
  try {
    return await start(programs)
  } catch (error) {
    await programs.stop()
    throw error
  }
}

async function start (programs: Programs): Promise<GaleraCluster> {
  const all = await Promise.all(['a', 'b', 'c'].map((name) => choosePorts(programs, name)))
  const nodes: Node[] = []
  for (const ports of all) {
    const node = startNode(programs, ports, all)
    nodes.push(node)
    if (nodes.length === 1) await createUser(node.port)
    await waitFor(`The server ${node.name}`, async () => await isSynced(toUrl(node.port)))
  }
  const checks = await Promise.all(nodes.map(({ port }) => startCheck(toUrl(port))))
  const balancer = await programs.port()
  startBalancer(programs, {
    port: balancer,
    servers: nodes.map(({ port }, index) => ({ port, check: getPort(checks[index]!) })),
    // The check responds with 200 if the server is synced.
    lines: ['balance roundrobin', 'option httpchk GET /']
  })
  const url = toUrl(balancer)
  await waitFor('HAProxy', async () => await isSynced(url))
  const affected = nodes[1]!
  const isolate = (value: 0 | 1) => withConnection(toUrl(affected.port), async (connection) => {
    await connection.query(`SET GLOBAL wsrep_provider_options = 'gmcast.isolate=${value}'`)
  })
  return {
    url,
    urls: nodes.map(({ port }) => toUrl(port)),
    write: () => withConnection(url, async (connection) => { await connection.query("INSERT INTO writes (text) VALUES ('')") }),
    readOrders: () => withConnection(url, async (connection) => {
      // What the whole cluster has committed, not only what this server has applied.
      await connection.query('SET SESSION wsrep_sync_wait = 1')
      return (await connection.query<Array<Order & RowDataPacket>>('SELECT id, number, changes FROM orders'))[0]
    }),
    killServer: () => ({
      begin: async () => affected.program.signal('SIGKILL'),
      async end () {
        affected.program = programs.start(affected.name, 'mariadbd', affected.args)
        await waitFor('The server that was killed', async () => await isSynced(toUrl(affected.port)))
      }
    }),
    isolateServer: () => ({ begin: () => isolate(1), end: () => isolate(0) }),
    freezeServer: () => ({
      begin: async () => affected.program.signal('SIGSTOP'),
      end: async () => affected.program.signal('SIGCONT')
    }),
    async stop () {
      for (const check of checks) check.close()
      await programs.stop()
    }
  }
}

const toUrl = (port: number) => `mysql://collections:collections@127.0.0.1:${port}/collections`

async function choosePorts (programs: Programs, name: string): Promise<Ports> {
  const [port, group] = [await programs.port(), await programs.port()]
  return { name, port, group, missed: await programs.port(), transfer: await programs.port() }
}

/** The first server begins the cluster, and the others join it. */
function startNode (programs: Programs, ports: Ports, all: readonly Ports[]): Node {
  const { name, port, group, missed, transfer } = ports
  const data = programs.createFolder(name)
  const isFirst = ports === all[0]
  if (isFirst) {
    const rootHasNoPassword = '--auth-root-authentication-method=normal'
    programs.run('mariadb-install-db', ['--no-defaults', `--datadir=${data}`, '--skip-test-db', rootHasNoPassword])
  }
  const options = [`gmcast.listen_addr=tcp://127.0.0.1:${group}`, `ist.recv_addr=127.0.0.1:${missed}`, 'gcache.size=64M']
  const args = [
    '--no-defaults',
    `--datadir=${data}`,
    `--socket=${join(programs.folder, `${name}.sock`)}`,
    `--pid-file=${join(programs.folder, `${name}.pid`)}`,
    '--bind-address=127.0.0.1',
    `--port=${port}`,
    '--innodb-buffer-pool-size=64M',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-autoinc-lock-mode=2',
    '--binlog-format=ROW',
    '--character-set-server=utf8mb4',
    '--wsrep-on=ON',
    `--wsrep-provider=${provider}`,
    `--wsrep-provider-options=${options.join(';')}`,
    '--wsrep-cluster-name=collections',
    `--wsrep-node-name=${name}`,
    `--wsrep-node-address=127.0.0.1:${group}`,
    '--wsrep-sst-method=rsync',
    `--wsrep-sst-receive-address=127.0.0.1:${transfer}`
  ]
  const cluster = `--wsrep-cluster-address=gcomm://${all.map(({ group }) => `127.0.0.1:${group}`).join(',')}`
  const program = programs.start(name, 'mariadbd', [...args, isFirst ? '--wsrep-new-cluster' : '', cluster].filter(Boolean))
  return { ...ports, args: [...args, cluster], program }
}

/** At first there is only root, without a password. */
async function createUser (port: number): Promise<void> {
  const open = () => driver.createConnection({ host: '127.0.0.1', port, user: 'root' })
  await waitFor('The first server', async () => {
    (await open()).destroy()
    return true
  })
  const root = await open()
  await root.query('CREATE DATABASE collections')
  await root.query('CREATE TABLE collections.writes (id INT AUTO_INCREMENT PRIMARY KEY, text TEXT)')
  await root.query("CREATE USER collections@'%' IDENTIFIED BY 'collections'")
  await root.query("GRANT ALL ON *.* TO collections@'%'")
  await root.end()
}

async function withConnection<Result> (url: string, use: (connection: Connection) => Promise<Result>): Promise<Result> {
  const connection = await driver.createConnection({ uri: url, connectTimeout: 1000 })
  connection.on('error', () => {})
  try {
    return await use(connection)
  } finally {
    connection.destroy()
  }
}

/** Whether a server is part of the cluster and has all of its data. */
async function isSynced (url: string): Promise<boolean> {
  const sql = "SHOW STATUS WHERE Variable_name = 'wsrep_local_state' AND Value = '4'"
  return await withConnection(url, async (connection) => {
    const [rows] = await connection.query<RowDataPacket[]>({ sql, timeout: 1000 })
    return rows.length === 1
  })
}

/** Responds to HAProxy with the state of a server, as the script clustercheck does. */
async function startCheck (url: string): Promise<Server> {
  const server = createServer(async (_request, response) => {
    response.writeHead(await isSynced(url).catch(() => false) ? 200 : 503).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const getPort = (server: Server) => (server.address() as AddressInfo).port

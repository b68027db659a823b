// PostgreSQL with three servers that Patroni manages, etcd for their agreement, and HAProxy in front of them.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { startBalancer } from './balancer.ts'
import type { Cluster, Fault } from './cluster.ts'
import type { Order } from './orders.ts'
import { findDescendants, findPostgres, Programs, signalAll, waitFor, type Needed, type Program } from './programs.ts'

export const needed: Needed = {
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  [findPostgres() ?? '/usr/lib/postgresql']: 'postgresql'
}

interface Node {
  readonly name: string
  readonly port: number
  /** Of Patroni's REST API. */
  readonly rest: number
  readonly data: string
  readonly patroni: Program
}

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

export interface PostgresCluster extends Cluster {
  /** The machine of the leader loses its power. */
  killLeader (): Fault
  /**
   * The machine of the leader stops: its connections are silent, neither open nor reset. It is killed later, as a
   * watchdog does. If it continued, Patroni 3.0 could make it the leader again, and the cluster would lose all that was
   * written in between: https://github.com/patroni/patroni/pull/2787
   */
  freezeLeader (): Fault
}

/** Seconds after which a leader that does not respond is replaced. Patroni's default is 30, and its minimum 20. */
const ttl = 20

export async function startPostgresCluster ({ synchronous }: { synchronous: boolean }): Promise<PostgresCluster> {
  const programs = await Programs.create('postgres')
  try {
    return await start(programs, synchronous)
  } catch (error) {
    await programs.stop()
    throw error
  }
}

async function start (programs: Programs, synchronous: boolean): Promise<PostgresCluster> {
  const [etcd, peer, balancer] = [await programs.port(), await programs.port(), await programs.port()]
  programs.start('etcd', 'etcd', [
    '--data-dir', programs.createFolder('etcd'),
    '--listen-client-urls', `http://127.0.0.1:${etcd}`,
    '--advertise-client-urls', `http://127.0.0.1:${etcd}`,
    '--listen-peer-urls', `http://127.0.0.1:${peer}`,
    '--initial-advertise-peer-urls', `http://127.0.0.1:${peer}`,
    '--initial-cluster', `default=http://127.0.0.1:${peer}`
  ])
  await waitFor('etcd', async () => (await fetch(`http://127.0.0.1:${etcd}/health`)).ok)
  const nodes: Node[] = []
  for (const name of ['a', 'b', 'c']) {
    nodes.push(await startNode(programs, { name, etcd, synchronous }))
    if (name === 'a') await waitFor('The first server', async () => (await findMembers(nodes)).length === 1)
  }
  const isComplete = (members: readonly Member[]) => {
    const standbys = members.filter(({ state, role }) => role !== 'leader' && /^(?:running|streaming)$/.test(state))
    const isConfirmed = !synchronous || members.some(({ role }) => role === 'sync_standby')
    return members.some(({ role }) => role === 'leader') && standbys.length === 2 && isConfirmed
  }
  await waitFor('The cluster', async () => isComplete(await findMembers(nodes)))
  startBalancer(programs, {
    port: balancer,
    servers: nodes.map(({ port, rest }) => ({ port, check: rest })),
    // Patroni responds with 200 if the server is the leader.
    lines: ['option httpchk OPTIONS /primary', 'http-check expect status 200']
  })
  const url = `postgres://postgres:postgres@127.0.0.1:${balancer}/postgres`
  await waitFor('HAProxy', () => withClient(url, async (client) => {
    await client.query('CREATE TABLE IF NOT EXISTS writes (text text)')
    return true
  }))
  const findLeader = async (): Promise<Node> => {
    const { name } = (await findMembers(nodes)).find(({ role }) => role === 'leader') ?? {}
    const leader = nodes.find((node) => node.name === name)
    if (leader === undefined) throw new Error('The cluster has no leader')
    return leader
  }
  return {
    url,
    write: () => withClient(url, async (client) => { await client.query("INSERT INTO writes VALUES ('')") }),
    readOrders: () => withClient(url, async (client) => {
      return (await client.query<Order>('SELECT id, number, changes FROM orders')).rows
    }),
    killLeader: () => ({
      begin: async () => signalAll(findProcesses(await findLeader()), 'SIGKILL')
    }),
    freezeLeader () {
      let frozen: number[] = []
      return {
        async begin () {
          frozen = findProcesses(await findLeader())
          signalAll(frozen, 'SIGSTOP')
        },
        end: async () => signalAll(frozen, 'SIGKILL')
      }
    },
    async stop () {
      const servers = nodes.flatMap(findProcesses)
      await programs.stop()
      // Patroni may have been killed, and its server not.
      signalAll(servers, 'SIGKILL')
    }
  }
}

interface NodeOptions {
  readonly name: string
  readonly etcd: number
  readonly synchronous: boolean
}

async function startNode (programs: Programs, { name, etcd, synchronous }: NodeOptions): Promise<Node> {
  const [port, rest] = [await programs.port(), await programs.port()]
  const data = programs.createFolder(name)
  const user = { username: 'postgres', password: 'postgres' }
  const settings = {
    scope: 'collections',
    name,
    restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
    etcd3: { host: `127.0.0.1:${etcd}` },
    bootstrap: {
      dcs: {
        ttl,
        loop_wait: 2,
        retry_timeout: 3,
        synchronous_mode: synchronous,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 100 } }
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { auth: 'trust' }]
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: data,
      bin_dir: findPostgres(),
      pgpass: join(programs.folder, `${name}.pgpass`),
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      authentication: { superuser: user, replication: user, rewind: user },
      parameters: { unix_socket_directories: '' }
    }
  }
  const file = join(programs.folder, `${name}.yml`)
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(settings))
  return { name, port, rest, data, patroni: programs.start(name, 'patroni', [file]) }
}

/** The processes of Patroni and of its server. */
function findProcesses ({ patroni, data }: Node): number[] {
  let server: number[] = []
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
    server = [pid, ...findDescendants(pid)]
  } catch {
    // It does not run.
  }
  return [patroni.pid, ...server]
}

/** What the first Patroni that responds says about the cluster. */
async function findMembers (nodes: readonly Node[]): Promise<Member[]> {
  for (const { rest } of nodes) {
    try {
      const response = await fetch(`http://127.0.0.1:${rest}/cluster`, { signal: AbortSignal.timeout(1000) })
      return (await response.json() as { members: Member[] }).members
    } catch {
      // The next one may respond.
    }
  }
  return []
}

async function withClient<Result> (url: string, use: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    client.end().catch(() => {})
  }
}

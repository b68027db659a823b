import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Programs } from './programs.ts'

interface Balancer {
  readonly port: number
  /** Each with the port of its health check. */
  readonly servers: ReadonlyArray<{ readonly port: number, readonly check: number }>
  /** How connections are distributed, and which servers are healthy, in the language of HAProxy. */
  readonly lines: readonly string[]
}

/** Starts HAProxy in front of the servers of a cluster. */
export function startBalancer (programs: Programs, { port, servers, lines }: Balancer): void {
  const file = join(programs.folder, 'haproxy.cfg')
  writeFileSync(file, `defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 1s
listen cluster
  bind 127.0.0.1:${port}
${lines.map((line) => `  ${line}\n`).join('')}\
  default-server inter 500ms fall 3 rise 2 on-marked-down shutdown-sessions
${servers.map(({ port, check }) => `  server ${port} 127.0.0.1:${port} check port ${check}\n`).join('')}`)
  programs.start('haproxy', 'haproxy', ['-db', '-f', file])
}

import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy between a pool and its server, which can go silent: it neither forwards nor closes. */
export interface Proxy {
  readonly port: number
  /** How many connections were accepted. */
  readonly count: number
  /** From now on, no connection forwards anything, nor do new ones. */
  silence (): void
  /** New connections forward again. Those from before stay silent. */
  recover (): void
  /** Closes all connections. */
  drop (): void
  end (): Promise<void>
}

/** Connections use the ports alternately. */
export async function startProxy (...ports: number[]): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let isSilent = false
  let count = 0
  const server = createServer((socket) => {
    const other = connect(ports[count++ % ports.length]!, '127.0.0.1')
    for (const [from, to] of [[socket, other], [other, socket]] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('data', (data) => { to.write(data) })
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (isSilent) from.pause()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    get count () {
      return count
    },
    silence () {
      isSilent = true
      for (const socket of sockets) socket.pause()
    },
    recover () {
      isSilent = false
    },
    drop () {
      for (const socket of sockets) socket.destroy()
    },
    async end () {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

import type { Order } from './orders.ts'

/** A cluster of three database servers behind HAProxy. */
export interface Cluster {
  /** Where the app connects to. */
  readonly url: string
  /** Writes over a new connection, without the library. */
  write (): Promise<void>
  /** The orders that the cluster has, as its own client sees them. */
  readOrders (): Promise<readonly Order[]>
  stop (): Promise<void>
}

/** What happens to one of its servers while clients write. */
export interface Fault {
  begin (): Promise<void>
  /** What happens to that server later. */
  end? (): Promise<void>
}

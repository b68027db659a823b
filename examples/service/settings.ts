import { Unusable } from './unusable.ts'

export interface Settings {
  readonly host: string
  readonly port: number
  /** A PostgreSQL, MySQL or MariaDB server; undefined to use the SQLite file. */
  readonly url: URL | undefined
  /** The SQLite file. */
  readonly file: string
  /** How many products to create in addition to the first ones. */
  readonly seed: number
}

export function settings (environment: NodeJS.ProcessEnv): Settings {
  const {
    HOST: host = '127.0.0.1',
    PORT: port = '3000',
    DATABASE_URL: url = '',
    SQLITE_FILE: file = 'service.db',
    SEED: seed = '0'
  } = environment
  return {
    host,
    port: parseInteger('PORT', port, 65_535),
    url: parseAddress(url),
    file,
    seed: parseInteger('SEED', seed, 1_000_000)
  }
}

function parseInteger (name: string, text: string, maximum: number): number {
  const value = /^\d{1,7}$/.test(text) ? Number(text) : Infinity
  if (value > maximum) throw new Unusable(`${name} is "${text}". Make it a number from 0 to ${maximum}.`)
  return value
}

function parseAddress (text: string): URL | undefined {
  if (text === '') return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    url === undefined ||
    !/^(postgres|postgresql|mysql|mariadb):$/.test(url.protocol) ||
    url.hostname === '' ||
    url.pathname.length < 2
  ) {
    throw new Unusable(
      'DATABASE_URL names no database. Write postgres://user:password@host:5432/name or mysql://user:password@host:3306/name, or leave it out for SQLite.'
    )
  }
  return url
}

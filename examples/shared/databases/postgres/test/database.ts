import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { config } from '../src/config.ts'

/** Returns the settings of an empty database for a test, beside that of .env, and a function that removes it. */
export async function createTestDatabase () {
  const { DATABASE_URL } = config()
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 1 })
  await pool.query(`CREATE DATABASE ${name}`)
  const url = new URL(DATABASE_URL)
  url.pathname = `/${name}`
  return {
    settings: { DATABASE_URL: url.href },
    async remove () {
      await pool.query(`DROP DATABASE ${name}`)
      await pool.end()
    }
  }
}

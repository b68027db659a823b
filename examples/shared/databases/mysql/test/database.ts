import { randomUUID } from 'node:crypto'
import driver from 'mysql2/promise'
import { config } from '../src/config.ts'

/** Returns the settings of an empty database for a test, beside that of .env, and a function that removes it. */
export async function createTestDatabase () {
  const { DATABASE_URL } = config()
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const connection = await driver.createConnection({ uri: DATABASE_URL })
  await connection.query(`CREATE DATABASE ${name}`)
  const url = new URL(DATABASE_URL)
  url.pathname = `/${name}`
  return {
    settings: { DATABASE_URL: url.href },
    async remove () {
      await connection.query(`DROP DATABASE ${name}`)
      await connection.end()
    }
  }
}

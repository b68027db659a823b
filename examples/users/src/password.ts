import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Buffer, number, Buffer>(scrypt)

export async function hash (password: string): Promise<string> {
  const salt = randomBytes(16)
  return `${salt.toString('base64url')}.${(await derive(password, salt, 32)).toString('base64url')}`
}

export async function matches (password: string, hashed: string): Promise<boolean> {
  const [salt = '', key = ''] = hashed.split('.')
  const expected = Buffer.from(key, 'base64url')
  const given = await derive(password, Buffer.from(salt, 'base64url'), 32)
  return expected.length === given.length && timingSafeEqual(expected, given)
}

import type { FastifyRequest } from 'fastify'
import { problem } from '../../lib/index.ts'
import type { Options } from '../../lib/index.ts'
import { ada, alan, notes, users } from './collections.ts'
import type { Note } from './collections.ts'
import type { Area } from './recorder.ts'

const authenticate = ({ request }: { request: FastifyRequest }): string | undefined => {
  const name = request.headers['x-user']?.toString()
  if (name === 'broken') throw new Error('bad credentials')
  return name
}

const as = (user: string) => ({ 'x-user': user })

export const access: Area = async (recorder) => {
  await recorder.serve(
    users({
      access: {
        authenticate,
        challenge: 'Bearer realm="users"',
        vary: ['X-User'],
        allow: {
          all: 'authenticated',
          list: 'public',
          update: ({ caller: name }) => name === 'root',
          remove: ({ caller: name }) => (name === 'root' ? true : 'hidden'),
          replace: () => {
            throw problem('forbidden', { detail: 'Nobody may replace.' })
          }
        }
      }
    })
  )
  const { location } = await recorder.send('POST /users', { content: ada, headers: as('ada') })
  for (const user of ['', 'broken', 'ada', 'root']) {
    const headers: Record<string, string> = user === '' ? {} : as(user)
    await recorder.send('GET /users', { headers })
    await recorder.send(`GET ${location}`, { headers })
    await recorder.send('POST /users', { content: alan, headers })
    await recorder.send(`PUT ${location}`, { content: ada, headers })
    await recorder.send(`PATCH ${location}`, { content: { age: 1 }, headers })
    await recorder.send(`OPTIONS ${location}`, { headers })
    await recorder.send(`DELETE ${location}`, { headers })
  }
  await recorder.send('GET /users/none')
}

const tenancy: Partial<Options<typeof Note>> = {
  access: { authenticate, scope: ({ caller: name }) => (name === 'root' ? undefined : { values: { owner: name! } }) }
}

export const scope: Area = async (recorder) => {
  await recorder.serve(notes({ ...tenancy, cache: 'private, max-age=5' }))
  await recorder.send('POST /notes', { content: { text: 'of ada' }, headers: as('ada') })
  await recorder.send('POST /notes', { content: { text: 'of alan' }, headers: as('alan') })
  await recorder.send('POST /notes', { content: { text: 'x', owner: 'alan' }, headers: as('ada') })
  await recorder.send('POST /notes', { content: { text: 'x', owner: 'ada' }, headers: as('root') })
  for (const user of ['ada', 'alan', 'root']) {
    await recorder.send('GET /notes?count=true', { headers: as(user) })
    await recorder.send('GET /notes/1', { headers: as(user) })
    await recorder.send('PATCH /notes/1', { content: { text: `by ${user}` }, headers: as(user) })
    await recorder.send('PUT /notes/1', { content: { text: `put by ${user}` }, headers: as(user) })
    await recorder.send('PATCH /notes/1', { content: { owner: 'alan' }, headers: as(user) })
    await recorder.send('DELETE /notes/2', { headers: as(user) })
  }
}

export const visible: Area = async (recorder) => {
  await recorder.serve(
    notes({ access: { authenticate, allow: 'public', visible: { secret: ({ caller: name }) => name === 'root' } } })
  )
  await recorder.send('POST /notes', { content: { text: 'a', secret: 's' }, headers: as('root') })
  for (const user of ['', 'ada', 'root']) {
    const headers: Record<string, string> = user === '' ? {} : as(user)
    for (const target of ['/notes', '/notes/1', '/notes?secret=s', '/notes?sort=secret', '/notes?fields=secret']) {
      await recorder.send(`GET ${target}`, { headers })
    }
    await recorder.send('POST /notes', { content: { text: 'b', secret: 'mine' }, headers })
    await recorder.send('PATCH /notes/1', { content: { secret: 'changed' }, headers })
    await recorder.send('PUT /notes/1', { content: { text: `by ${user}` }, headers })
  }
  await recorder.send('GET /notes/1', { headers: as('root') })
}

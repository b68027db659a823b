import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { action } from '../../lib/features/action.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { created, request } from '../app.ts'
import { waitForRest, watchedDatabases } from './interrupted.ts'
import { thrownValues } from './thrown-values.ts'

// Whatever a function of the app throws, its transaction ends and its connection returns.

const Note = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() })

for (const { name, skip, open } of watchedDatabases) {
  test(`${name}: whatever hooks and actions throw, nothing stays open and nothing is written`, { skip }, async (t) => {
    const watched = await open(t)
    const { storage } = watched
    const thrown = { in: '', value: (): unknown => undefined }
    const throwIn = (place: string) => {
      if (thrown.in === place) throw thrown.value()
    }
    const others = define({
      name: 'others',
      schema: Note,
      storage,
      hooks: { beforeWrite: () => throwIn('another collection') }
    })
    const notes = define({
      name: 'notes',
      schema: Note,
      storage,
      hooks: {
        async beforeWrite ({ transaction }) {
          await transaction.collection(others).create({ text: 'beside' })
          throwIn('beforeWrite')
        },
        afterWrite: () => throwIn('afterWrite')
      }
    }).with(
      idempotency(),
      action('touch', {
        async run ({ transaction, item }) {
          await transaction.collection(others).create({ text: 'beside' })
          throwIn('run')
          return { ...item, text: 'touched' }
        }
      }),
      action('forgive', {
        async run ({ transaction, item }) {
          // A part of the call may be done, so the transaction cannot be committed.
          await transaction.collection(others).create({ text: 'beside' }).catch(() => {})
          return { ...item, text: 'touched' }
        }
      })
    )
    const app = Fastify()
    t.after(() => app.close())
    await app.register(registry)
    for (const definition of [others, notes]) {
      await watched.prepare(definition)
      await app.register(collection, definition)
    }
    const { at } = await created(app, '/notes', { text: 'first' })
    const count = async () => (await request(app, 'GET /others')).json().length
    const before = await count()
    const requests = {
      beforeWrite: 'POST /notes',
      afterWrite: `PATCH ${at}`,
      run: `POST ${at}/touch`,
      'another collection': `POST ${at}/forgive`
    }
    for (const [description, create] of Object.entries(thrownValues)) {
      for (const [place, target] of Object.entries(requests)) {
        Object.assign(thrown, { in: place, value: create })
        const fields = { 'idempotency-key': `"${description} ${place}"` }
        const content = place === 'run' || place === 'another collection' ? {} : { text: 'second' }
        const type = target.startsWith('PATCH') ? 'application/merge-patch+json' : 'application/json'
        const answer = await request(app, target, { content, type, fields })
        if (answer.statusCode < 400) t.fail(`${description} in ${place}: ${answer.statusCode}`)
      }
      t.strictSame(await waitForRest(watched), [], description)
    }
    thrown.in = ''
    t.strictSame((await request(app, 'GET /notes')).json().map(({ text }: { text: string }) => text), ['first'])
    t.equal(await count(), before)
    t.equal((await request(app, `POST ${at}/touch`, { content: {} })).statusCode, 200)
  })
}

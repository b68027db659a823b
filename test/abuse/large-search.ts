import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import collection from '../../lib/index.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { notes } from '../app.ts'

// A process of its own, with a small heap: searches in much more text than the heap can hold.

const rows = 40
const size = 1_000_000

const database = new DatabaseSync(':memory:')
const storage = sqlite(database)
const definition = notes({ storage, list: { search: ['text'] } })
await storage.createTable(definition)
const app = Fastify()
await app.register(collection, definition)

const insert = database.prepare("INSERT INTO notes (id, text, version) VALUES (?, ?, 'v')")
const text = 'The quick brown fox jumps over the lazy dog. Съешь ещё этих булок. '
for (let row = 0; row < rows; row++) insert.run(crypto.randomUUID(), text.repeat(Math.ceil(size / text.length)))

const found: Record<string, unknown> = {}
for (const q of ['the quick fox jumps over lazy dog missing', 'ЕЩЁ Булок x missing', 'Ещё', 'zebra']) {
  const answer = await app.inject({ url: '/notes', query: { q, limit: '1', fields: 'id', count: 'true' } })
  found[q] = `${answer.statusCode} ${answer.headers['x-total-count']}`
}
process.send!(found)
process.disconnect()

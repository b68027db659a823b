import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'

const Purchase = Type.Object(
  { quantity: Type.Integer({ minimum: 1, maximum: 1000, default: 1 }) },
  { additionalProperties: false }
)

// One statement checks and reduces the stock: of two buyers of the last piece, the second gets 409. It also changes the
// version, so that an editor who has read the old stock gets 412.
const purchase = `UPDATE products SET stock = stock - $2, version = gen_random_uuid()::text, updated_at = now()
  WHERE sku = $1 AND stock >= $2 RETURNING stock, price * $2 AS total`

export default async function purchases (app: FastifyInstance): Promise<void> {
  app.post<{ Params: { sku: string }; Body: Static<typeof Purchase> }>(
    '/products/:sku/purchases',
    { schema: { body: Purchase } },
    async (request, reply) => {
      const {
        params: { sku },
        body: { quantity }
      } = request
      const {
        rows: [purchased]
      } = await app.pool.query<{ stock: number; total: string }>(purchase, [sku, quantity])
      if (purchased !== undefined) {
        return reply.code(201).send({ sku, quantity, total: purchased.total, left: purchased.stock })
      }
      const { rowCount } = await app.pool.query('SELECT FROM products WHERE sku = $1', [sku])
      return rowCount === 0
        ? reply.code(404).send({ message: 'The product does not exist.' })
        : reply.code(409).send({ message: 'The stock is not sufficient.' })
    }
  )
}

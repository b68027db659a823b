import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { styleText } from 'node:util'
import { config } from '../src/config.ts'

// npm run import -- products.csv [http://localhost:3000]
// Imports a file with lines `sku,name,price,stock`. After a failure, run it again: no product is created twice.
// The key of an editor is in .env.

const [file, service = 'http://localhost:3000'] = process.argv.slice(2)
const size = 500

try {
  if (file === undefined) throw new Error('The file is missing. Use: npm run import -- products.csv')
  await load(await readFile(file, 'utf8'))
} catch (error) {
  console.error(`The import failed: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}

async function load (text: string): Promise<void> {
  const lines = text.split(/\r?\n/).filter((line) => line !== '')
  for (let done = 0; done < lines.length;) {
    const batch = lines.slice(done, done + size)
    await post(JSON.stringify(batch.map(product)))
    done += batch.length
    reportProgress(done, lines.length)
  }
}

function product (line: string) {
  const [sku, name, price, stock] = line.split(',')
  return { sku, name, price, stock: Number(stock) }
}

/** A batch has the same key in every run, so the service creates its products once. */
async function post (body: string): Promise<void> {
  const idempotencyKey = createHash('sha256').update(body).digest('base64url')
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${service}/products`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${config().EDITOR_KEY}`,
        'content-type': 'application/json',
        'idempotency-key': `"${idempotencyKey}"`,
        prefer: 'return=minimal'
      },
      body
    })
    const { status, headers } = response
    if (status === 201) return
    const isTemporary = status === 429 || status >= 500 || (status === 409 && headers.has('retry-after'))
    if (!isTemporary || attempt === 8) throw new Error(`${status} ${await response.text()}`)
    await delay(Number(headers.get('retry-after') ?? 1) * 1000)
  }
}

/** On a terminal, updates one line; otherwise prints one line at the end. */
function reportProgress (done: number, total: number): void {
  const { stderr } = process
  const line = `${done} of ${total} products`
  if (done === total) stderr.write(`${stderr.isTTY ? '\r' : ''}${styleText('green', line, { stream: stderr })}\n`)
  else if (stderr.isTTY) stderr.write(`\r${line}`)
}

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { areas } from './corpus/areas.ts'
import { Recorder } from './corpus/recorder.ts'

// Every response of the corpus stays as it was recorded, to the byte. After an intended change, record it again and
// read the diff:
// RECORD=true npx tap run --disable-coverage test/corpus.test.ts

const separator = '\n\n-----\n\n'

for (const [name, area] of Object.entries(areas)) {
  test(name, async (t) => {
    const recorder = new Recorder()
    t.teardown(() => recorder.close())
    await area(recorder)
    const file = new URL(`corpus/recorded/${name}.txt`, import.meta.url)
    if (process.env.RECORD === 'true') writeFileSync(file, recorder.exchanges.join(separator) + '\n')
    const recorded = existsSync(file) ? readFileSync(file, 'utf8').slice(0, -1).split(separator) : []
    t.equal(recorder.exchanges.length, recorded.length, 'the number of exchanges')
    for (const [at, exchange] of recorder.exchanges.entries()) {
      t.equal(exchange, recorded[at], exchange.split('\n', 1)[0]!)
    }
  })
}

import { test } from 'tap'
import { areas } from './corpus/areas.ts'
import { readRecording, Recorder, writeRecording } from './corpus/recorder.ts'

// Every response of the corpus stays as it was recorded, to the byte. After an intended change, record it again and
// read the diff:
// RECORD=true npx tap run --disable-coverage test/corpus.test.ts

for (const [name, area] of Object.entries(areas)) {
  test(name, async (t) => {
    const recorder = new Recorder()
    t.teardown(() => recorder.close())
    await area(recorder)
    if (process.env.RECORD === 'true') writeRecording(name, recorder.exchanges)
    const recorded = readRecording(name)
    t.equal(recorder.exchanges.length, recorded.length, 'the number of exchanges')
    for (const [at, exchange] of recorder.exchanges.entries()) {
      t.equal(exchange, recorded[at], exchange.split('\n', 1)[0]!)
    }
  })
}

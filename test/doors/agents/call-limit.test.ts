import { test } from 'tap'
import { CallLimit } from '../../../lib/doors/agents/call-limit.ts'

test('the calls of each caller are counted for a minute', async (t) => {
  const limit = new CallLimit(2)
  t.strictSame([0, 0, 0].map((now) => limit.count('ada', now)), [undefined, undefined, 60])
  t.equal(limit.count('bob', 0), undefined)
  t.equal(limit.count('ada', 59_500), 1)
  t.equal(limit.count('ada', 60_000), undefined)
  for (let index = 0; index < 10_000; index++) limit.count(`caller ${index}`, 60_000)
  t.strictSame([60_001, 60_001, 60_001].map((now) => limit.count('ada', now)), [undefined, undefined, 60],
    'of too many callers, the first begin again')
})

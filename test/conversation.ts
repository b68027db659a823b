// Sessions in a shell: `$` begins a command, its output follows; `...` matches any text, on a line of its own any
// lines.

export interface Command {
  readonly run: string
  readonly shown: string[]
}

export function parseCommands (code: string): Command[] {
  return code
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [run = '', ...shown] = part
        .replace(/\\\n\s*/g, '')
        .trimEnd()
        .split('\n')
      return { run, shown }
    })
}

export function toPattern (shown: readonly string[]): RegExp {
  const lines = shown.map((line) =>
    line === '...' ? '(?:.*\\n)*?' : `${line.split('...').map(escapePattern).join('.*')}\\n`
  )
  return new RegExp(`^${lines.join('')}$`)
}

function escapePattern (literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

// Conversations: `$` begins a command, the lines below are its output; `...` stands for anything, alone in a line for
// any lines.

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
    line === '...' ? '(?:.*\\n)*?' : `${line.split('...').map(escaped).join('.*')}\\n`
  )
  return new RegExp(`^${lines.join('')}$`)
}

function escaped (literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

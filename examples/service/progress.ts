import { styleText } from 'node:util'
import type { WriteStream } from 'node:tty'

/**
 * Reports the progress of a long task: on a terminal in one line that is updated, otherwise once, at the end.
 * `styleText` omits colors without a terminal, or if NO_COLOR is set.
 */
export function progress (
  task: string,
  total: number,
  stream: NodeJS.WriteStream | WriteStream = process.stderr
): (done: number) => void {
  return (done) => {
    const line = `${task}: ${done} of ${total}`
    if (done === total) stream.write(`${stream.isTTY ? '\r' : ''}${styleText('green', line, { stream })}\n`)
    else if (stream.isTTY) stream.write(`\r${line} (${Math.floor((100 * done) / total)} %)`)
  }
}

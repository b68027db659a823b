import { styleText } from 'node:util'
import type { WriteStream } from 'node:tty'

/**
 * Tells how far a long work is: on a terminal in one line that is written again and again, anywhere else once, at its end.
 * `styleText` leaves colours out where there is no terminal, or where NO_COLOR is set.
 */
export function progress (work: string, total: number, stream: NodeJS.WriteStream | WriteStream = process.stderr): (done: number) => void {
  return done => {
    const line = `${work}: ${done} of ${total}`
    if (done === total) stream.write(`${stream.isTTY ? '\r' : ''}${styleText('green', line, { stream })}\n`)
    else if (stream.isTTY) stream.write(`\r${line} (${Math.floor(100 * done / total)} %)`)
  }
}

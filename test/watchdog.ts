import { spawn } from 'node:child_process'

/**
 * Ends a server, and removes its folder, when this process has ended in any way. The test runner ends a file that
 * exceeds its time limit with SIGKILL, so that no handler of this process runs. A shell waits for the end of a pipe
 * that only this process holds open.
 *
 * Returns a function that stops waiting: call it when the server has ended.
 */
export function watchServer (pid: number, signal: 'TERM' | 'QUIT' | 'KILL', folder = ''): () => void {
  const script = 'read -r line || { kill -s "$2" "$1"; sleep 1; [ -z "$3" ] || rm -rf "$3"; }'
  const shell = spawn('sh', ['-c', script, 'sh', String(pid), signal, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Ctrl+C ends the tests, not the shell.
    detached: true
  })
  shell.unref()
  const { stdin } = shell
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  // A shell that has been ended itself cannot be written to.
  stdin.on('error', () => {})
  return () => stdin.end('ended\n')
}

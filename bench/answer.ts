/** The parts of an HTTP/1.1 response that the driver needs, so that it uses less CPU time than the server. */
export interface Answer {
  readonly status: number
  readonly head: string
  readonly size: number
}

const gap = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('0\r\n\r\n')

/** Returns undefined until the response is complete. Requests are not pipelined, so nothing follows it. */
export function parseAnswer (bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf(gap)
  if (end === -1) return
  const head = bytes.toString('latin1', 0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head)) {
    if (!bytes.subarray(-lastChunk.length).equals(lastChunk)) return
  } else if (bytes.length < end + gap.length + Number(length ?? 0)) return
  return { status: Number(head.slice(9, 12)), head, size: bytes.length }
}

export function getField (head: string, name: string) {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(head)?.[1] ?? ''
}

import { connect, constants } from 'node:http2'
import type { OutgoingHttpHeaders } from 'node:http2'
import { Duplex } from 'node:stream'

// HTTP/2 on the wire, for what a client library does not send.

/** Returns the bytes that a client sends: the preface, its settings, and a request whose content does not end. */
export async function recordRequest (headers: OutgoingHttpHeaders, content: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  const recorder = new Duplex({
    read () {},
    write (chunk: Buffer, _encoding, callback) {
      chunks.push(chunk)
      callback()
    }
  })
  const session = connect('http://localhost', { createConnection: () => recorder })
  session.on('error', () => {})
  const stream = session.request(headers, { endStream: false })
  stream.on('error', () => {})
  // Node.js sends the headers before the content.
  await new Promise((resolve) => stream.write(content, resolve))
  const bytes = Buffer.concat(chunks)
  session.destroy()
  return bytes
}

/** RFC 9113, section 6.4: resets the first stream of a client. Before RST_STREAM, Node.js ends the content. */
export const resetFrame = Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, constants.NGHTTP2_CANCEL])

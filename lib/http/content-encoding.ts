// RFC 9110 §8.4: Content-Encoding.

import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'

const engines = new Map([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  // §8.4.1.3: the same as gzip.
  ['x-gzip', createGunzip]
])

/** For Accept-Encoding (§12.5.3). */
export const codings: readonly string[] = ['gzip', 'deflate', 'br']

/** Content that is not in the coding it claims to be in. */
export class UndecodableContent extends Error {
  readonly statusCode = 415

  constructor (coding: string, cause: Error) {
    super(`The content cannot be decoded as ${coding}.`, { cause })
    this.name = 'UndecodableContent'
  }
}

export interface Decoder extends Transform {
  /** Bytes before decoding. */
  readonly receivedEncodedLength: number
}

/** A stream for one coding; undefined where it is not known, or where there are several. */
export function decoder (coding: string): Decoder | undefined {
  const create = engines.get(coding.trim().toLowerCase())
  if (create === undefined) return undefined
  const engine = create()
  const destroy = engine._destroy.bind(engine)
  engine._destroy = (error, done) => destroy(error, cause => done(cause ? new UndecodableContent(coding, cause) : null))
  // Object.defineProperty does not tell the type of what it adds.
  return Object.defineProperty(engine, 'receivedEncodedLength', { get: () => engine.bytesWritten }) as typeof engine & Decoder
}

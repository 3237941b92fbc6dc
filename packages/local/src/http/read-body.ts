import type { IncomingMessage } from 'node:http'

/**
 * The body of a request, or undefined where it has more than `limit` bytes. Then it is read to its end all the same, and
 * dropped: an answer in the middle of it would be lost to a client that still sends.
 */
export async function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  let chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limit) chunks = []
    else chunks.push(chunk)
  }
  return length > limit ? undefined : Buffer.concat(chunks)
}

import type { IncomingMessage } from 'node:http'

/** The body of a request, or undefined where it has more than `limit` bytes: the rest is then read and dropped. */
export async function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop must not break the connection, on which the answer still has to go.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limit) {
      incoming.resume()
      return undefined
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

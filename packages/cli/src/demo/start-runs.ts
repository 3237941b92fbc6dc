import { randomUUID } from 'node:crypto'
import type { Sql } from '@starflow/core'
import type { DocumentInput } from '../../../../functions/_flows/readme-index/document.ts'

/** Bounds of one bulk start: a call stays short, and far below what one parameter may hold. */
const MAX_CHUNK_DOCUMENTS = 100
const MAX_CHUNK_BYTES = 4_000_000

/** Starts one run per document with as few calls as the sizes allow, and gives the ids in the order of the documents. */
export async function startRuns(
  sql: Sql,
  flowSlug: string,
  documents: readonly DocumentInput[],
  signal?: AbortSignal,
): Promise<string[]> {
  const runIds: string[] = []
  for (const chunk of chunksOf(documents.map((document) => JSON.stringify(document)))) {
    signal?.throwIfAborted()
    const ids = chunk.map(() => randomUUID())
    await sql`select count(*) from pgflow.start_flows(${flowSlug}, ${`[${chunk.join(',')}]`}::text::jsonb, ${ids}::uuid[])`
    runIds.push(...ids)
  }
  return runIds
}

/** Groups texts so that no group is over the bounds, unless one text alone is. */
export function chunksOf(
  texts: readonly string[],
  maxCount = MAX_CHUNK_DOCUMENTS,
  maxBytes = MAX_CHUNK_BYTES,
): string[][] {
  const chunks: string[][] = []
  let bytes = 0
  for (const text of texts) {
    const size = Buffer.byteLength(text)
    const chunk = chunks.at(-1)
    if (chunk === undefined || chunk.length >= maxCount || bytes + size > maxBytes) {
      chunks.push([text])
      bytes = size
    } else {
      chunk.push(text)
      bytes += size
    }
  }
  return chunks
}

import { readFile } from 'node:fs/promises'
import type { Sql } from '@starflow/core'

/** Makes the demo's own tables, or leaves them as they are. */
export async function applyDemoSchema(sql: Sql): Promise<void> {
  const schema = await readFile(new URL('./schema.sql', import.meta.url), 'utf8')
  await sql.unsafe(schema)
}

import { join } from 'node:path'
import { ROOT } from './repository.ts'
import type { SchemaFile } from './schema-files.ts'

/** Until the first release there is one migration, and it is always built anew. */
export const BASELINE_FILE = join(ROOT, 'supabase/migrations/20261129000000_starflow_baseline.sql')

const HEADER = [
  '-- What changes: the SQL core of Starflow is installed (schemas pgflow and starflow). Built from packages/core/schemas: edit there.',
  '-- Under load: yes. It only creates what does not exist yet and locks no table of yours.',
  '-- Going back: unschedule the pgflow_* jobs in cron.job, drop the queues of your flows, then drop schemas pgflow and starflow cascade.',
].join('\n')

/** The text of the baseline migration: the header, then every schema file under a line that names it. */
export function baselineMigration(files: readonly SchemaFile[]): string {
  return `${[HEADER, ...files.map((file) => `-- ${file.path}\n${file.sql}`)].join('\n\n')}\n`
}

/** The first line in which two texts differ, as a person would look for it; undefined for equal texts. */
export function firstDifference(expected: string, found: string): string | undefined {
  if (expected === found) return undefined
  const expectedLines = expected.split('\n')
  const foundLines = found.split('\n')
  const index = expectedLines.findIndex((line, at) => line !== foundLines[at])
  const at = index === -1 ? expectedLines.length : index
  return [
    `line ${at + 1}`,
    `  schemas:   ${expectedLines[at] ?? '(end)'}`,
    `  migration: ${foundLines[at] ?? '(end)'}`,
  ].join('\n')
}

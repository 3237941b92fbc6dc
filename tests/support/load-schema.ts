import type { Sql } from 'postgres'
import type { SchemaFile } from '../../scripts/schema-files.ts'

/** Where a schema file failed, as a person would look for it. */
class SchemaLoadError extends Error {
  override readonly name = 'SchemaLoadError'
}

/** Runs schema files in order on one database; an error names the file and, where the server tells it, the line. */
export async function loadSchema(sql: Sql, files: readonly SchemaFile[]): Promise<void> {
  for (const file of files) {
    try {
      await sql.unsafe(file.sql).simple()
    } catch (cause) {
      const { message, detail, hint, where, position } = cause as Record<string, string | undefined>
      const line = position === undefined ? '' : `:${file.sql.slice(0, Number(position)).split('\n').length}`
      const parts = [message, detail, hint, where].filter((part) => part !== undefined && part !== '')
      throw new SchemaLoadError(`packages/core/schemas/${file.path}${line}\n  ${parts.join('\n  ')}`, { cause })
    }
  }
}

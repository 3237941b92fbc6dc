import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StarflowError } from '@starflow/errors'

/**
 * Makes a folder and those above it that are missing, one by one: Node's recursive mkdir never returns where the system
 * refuses with ENOENT, as below /proc.
 *
 * @throws StarflowError SF506 where it cannot be made, or where something else has its name
 */
export function makeFolder(folder: string, mode = 0o777): void {
  const missing: string[] = []
  for (let each = folder; !existsSync(each); each = dirname(each)) missing.unshift(each)
  try {
    for (const each of missing) mkdirUnlessThere(each, mode)
  } catch (cause) {
    throw unusable(folder, cause instanceof Error ? cause.message : String(cause), cause)
  }
  if (!statSync(folder).isDirectory()) throw unusable(folder, 'It is not a folder.')
}

function mkdirUnlessThere(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function unusable(folder: string, detail: string, cause?: unknown): StarflowError {
  return new StarflowError({
    code: 'SF506',
    message: `The folder ${folder} cannot be used as a data folder.`,
    detail,
    hint: 'Name a folder that can be made and written.',
    fields: { dataDir: folder },
    cause,
  })
}

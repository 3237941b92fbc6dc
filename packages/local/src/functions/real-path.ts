import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A path without symbolic links, so that two of them can be compared; also of what is not there any longer. */
export function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path))
  }
}

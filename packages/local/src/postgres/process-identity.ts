import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

/**
 * What tells a process from a later one with the same id: when it started. `undefined` when no such process runs; one
 * that has ended and only waits for its parent to notice (a zombie) does not run.
 */
export function processIdentity(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  if (process.platform !== 'linux') {
    const { status, stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
    const [state = '', ...started] = stdout.trim().split(/\s+/)
    return status === 0 && !state.startsWith('Z') ? started.join(' ') : undefined
  }
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

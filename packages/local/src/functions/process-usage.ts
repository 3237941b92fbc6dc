import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/** What a process has used since it started, seen from outside. */
export interface ProcessUsage {
  readonly cpuMs: number
  readonly memoryMb: number
}

/** Usage of each process that still lives. Reads /proc where there is one, asks `ps` elsewhere. */
export async function sampleProcesses(pids: readonly number[]): Promise<Map<number, ProcessUsage>> {
  if (pids.length === 0) return new Map()
  return process.platform === 'linux' ? sampleFromProc(pids) : sampleFromPs(pids)
}

/** Linux counts in ticks of 10 ms on every architecture that Node runs on. */
const MS_PER_TICK = 10

/** Without the thread pool: the kernel answers such a read at once, and to hand it over costs five times as much. */
function sampleFromProc(pids: readonly number[]): Map<number, ProcessUsage> {
  const usages = new Map<number, ProcessUsage>()
  for (const pid of pids) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      usages.set(pid, { cpuMs: cpuMsOfStat(stat), memoryMb: memoryMbOfStatus(status) })
    } catch {
      // It ended meanwhile.
    }
  }
  return usages
}

/** utime and stime are the 14th and 15th field; the second may hold spaces and parentheses. */
export function cpuMsOfStat(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
}

/** Memory of its own: what is mapped from the binary is shared by all isolates. */
function memoryMbOfStatus(status: string): number {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
}

async function sampleFromPs(pids: readonly number[]): Promise<Map<number, ProcessUsage>> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=,time=,rss=', '-p', pids.join(',')])
    return usagesOfPs(stdout)
  } catch {
    // ps fails when none of them lives any more.
    return new Map()
  }
}

/** Lines of `ps -o pid=,time=,rss=`: time is [[dd-]hh:]mm:ss[.cc], rss is in kB. */
export function usagesOfPs(output: string): Map<number, ProcessUsage> {
  const usages = new Map<number, ProcessUsage>()
  for (const line of output.split('\n')) {
    const match = /^\s*(\d+)\s+(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)\s+(\d+)\s*$/.exec(line)
    if (match === null) continue
    const [, pid, days = 0, hours = 0, minutes, seconds, rssKb] = match
    const total = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)
    usages.set(Number(pid), { cpuMs: Math.round(total * 1000), memoryMb: Number(rssKb) / 1024 })
  }
  return usages
}

import { cpus, loadavg, totalmem } from 'node:os'

/** What kind of machine the figures come from, without its name. */
export interface Machine {
  readonly cores: number
  readonly memoryGb: number
  readonly platform: string
  readonly node: string
  readonly postgres: string
  readonly date: string
  /** Load of the last minute before the bench began: above 0.5 somebody else was at work. */
  readonly loadBefore: number
}

export function describeMachine(postgres: string, now: Date): Machine {
  return {
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    postgres,
    date: now.toISOString().slice(0, 10),
    loadBefore: loadavg()[0]!,
  }
}

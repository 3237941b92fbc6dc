/** The few parts of Node's process that we use, reached without its type package; Bun has the same. */
export interface NodeProcess {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly argv: readonly string[]
  readonly versions: Readonly<Record<string, string | undefined>>
  exitCode?: number | string | null | undefined
  on(signal: string, listener: (signal: string) => void): unknown
  off(signal: string, listener: (signal: string) => void): unknown
  listenerCount(signal: string): number
  exit(code?: number): never
  /** Microseconds since the start of the process, or since an earlier reading. */
  cpuUsage(since?: CpuUsage): CpuUsage
}

export interface CpuUsage {
  readonly user: number
  readonly system: number
}

/** Undefined where there is no such process. */
export const nodeProcess = (globalThis as { readonly process?: NodeProcess }).process

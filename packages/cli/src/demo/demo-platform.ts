import type { Sql } from '@starflow/core'
import { startStarflowPlatform } from '../platform/start-starflow-platform.ts'
import type { BusyWorker } from './chaos.ts'

/** What the demo needs of the platform it runs on. */
export interface DemoPlatform {
  readonly sql: Sql
  readonly databaseUrl: string
  readonly apiUrl: string
  readonly anonKey: string
  readonly serviceRoleKey: string
  /** Kills the process of a worker without telling it; false when it was gone already. */
  killWorker(worker: BusyWorker): Promise<boolean>
  /** CPU of all worker functions since the start, after their boot. */
  cpuMs(): number
  dispose(): Promise<void>
}

export interface DemoPlatformOptions {
  readonly dataDir: string
  readonly functionsDir: string
  readonly configFile: string
  /** Told what a person should know: a function that does not boot, a line that a function wrote as an error. */
  readonly note: (text: string) => void
  /** Asked before an outdated local database is deleted and made anew. */
  readonly mayRecreate: () => boolean | Promise<boolean>
}

/** Starts the local platform with all generated functions. What fails leaves nothing behind. */
export async function startDemoPlatform(options: DemoPlatformOptions): Promise<DemoPlatform> {
  const { dataDir, functionsDir, configFile, note, mayRecreate } = options
  let endedCpuMs = 0
  const { platform, sql, dispose } = await startStarflowPlatform({
    dataDir,
    functionsDir,
    configFile,
    hasServer: true,
    mayRecreate,
    onEvent: (event) => {
      switch (event.type) {
        case 'function.exited':
          endedCpuMs += event.cpuMs
          break
        case 'function.boot_failed':
          note(`${event.error.code}: ${event.error.message}`)
          break
        case 'function.log':
          if (event.level === 'error') note(`${event.name}: ${event.line}`)
          break
        case 'cpu.unreported':
          note(`The CPU of workers is not written down for now: ${event.message}`)
          break
      }
    },
  })
  return {
    sql,
    databaseUrl: platform.databaseUrl,
    apiUrl: platform.apiUrl,
    anonKey: platform.anonKey,
    serviceRoleKey: platform.serviceRoleKey,
    killWorker: ({ executionId }) => platform.functions.killIsolate(executionId),
    cpuMs: () => platform.functions.isolates().reduce((sum, isolate) => sum + isolate.cpuMs, endedCpuMs),
    dispose,
  }
}

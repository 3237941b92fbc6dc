import type { BenchCluster } from './cluster.ts'
import type { Progress } from './measure/progress.ts'

/** What is asked of every system alike. */
export interface Workload {
  /** Steps of one run, one after the other; 1 is a plain job. */
  readonly steps: number
  /** Connections that work, or what comes nearest to them in a system that has a pool. */
  readonly clients: number
  /** Tasks that one client holds at a time: `clients × batch` are in flight at most. */
  readonly batch: number
}

/** One system on a database of its own, ready to be measured. */
export interface Session {
  readonly database: string
  /**
   * Makes this many runs durable, in the largest calls that the system has. `null` for a system in the form measured here
   * begins a run where it is called: then `startWorkers` starts what `expect` announced.
   */
  readonly start: ((runs: number) => Promise<void>) | null
  /** For a system without `start`: how many runs its workers begin. */
  expect?(runs: number): void
  /** Handlers run from now on and tell `progress`. */
  startWorkers(): Promise<void>
  /** Nothing runs when it returns, and the workers' connections are closed. */
  stopWorkers(): Promise<void>
  /** What is wrong in the database after `runs` runs were finished; empty when all is well. */
  problems?(runs: number): Promise<string>
  /** For workers in a process of their own, or that count what they do. */
  readonly workers?: WorkerProcess
  close(): Promise<void>
}

/** What only real workers can tell. */
export interface WorkerProcess {
  /** CPU of the process they live in, in milliseconds. */
  cpuMs(): number
  /** Brings what they counted since the last call into `progress`, and gives their calls of the database. */
  report(): Promise<{ readonly calls: number; readonly settlingCalls: number; readonly settledTasks: number }>
}

/** A system under measurement, in one of its configurations. */
export interface Contender {
  readonly name: string
  readonly version: string
  /** How it is configured, for a reader who knows it. */
  readonly settings: string
  /** About how many runs it works off in a second; grows with the batch. */
  pace(workload: Workload): number
  /** About how many runs it starts in a second. */
  readonly startPace: number
  open(cluster: BenchCluster, workload: Workload, progress: Progress): Promise<Session>
}

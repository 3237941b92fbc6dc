import type { Firing, FiringKey, FiringOutcome, FiringStart } from '../triggers/firing.ts'

/**
 * What has fired. A firing is a row that is there once, written before its run is started: of several edges one writes it, and
 * when that one dies another starts the run.
 */
export interface TriggerStore {
  /**
   * The clock of the database, and until which instant each of these schedules has fired. One that was never seen has fired until
   * now.
   */
  openSchedules(
    workspaceId: string,
    names: readonly string[],
  ): Promise<{ readonly now: Date; readonly firedUntil: ReadonlyMap<string, Date> }>
  /** Everything up to an instant has fired, or never will. It never goes back. */
  advanceSchedule(workspaceId: string, name: string, until: Date): Promise<void>
  /** True when this call recorded the instant: whoever did so starts its run. Nothing is recorded up to where it has advanced. */
  recordInstant(key: FiringKey, start: FiringStart, status: 'recorded' | 'skipped'): Promise<boolean>
  /** The firing of a delivery. A refused one is recorded anew: the sender repeats it when what refused it was mended. */
  recordDelivery(key: FiringKey, start: FiringStart): Promise<{ readonly firing: Firing; readonly created: boolean }>
  /** What became of a recorded firing; it is kept once. */
  settleFiring(key: FiringKey, outcome: FiringOutcome): Promise<void>
  /** Of a schedule: the latest that was recorded or started. */
  lastFiring(workspaceId: string, name: string): Promise<Firing | undefined>
  /** Recorded this long ago and not started, oldest first. */
  unstartedFirings(workspaceId: string, olderThanMs: number, limit: number): Promise<readonly Firing[]>
  /** Forgets those that were settled this long ago. */
  pruneFirings(olderThanMs: number): Promise<number>
  close(): Promise<void>
}

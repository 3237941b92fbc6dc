import type { LiveKind, LiveMarks, LiveMarksSource } from '../live/live-marks.ts'
import { type SqlFunctions, scalar } from './sql-functions.ts'

/** Marks of Postgres: one call of one SQL function. */
export class SqlLiveMarks implements LiveMarksSource {
  readonly #call: SqlFunctions

  constructor(call: SqlFunctions) {
    this.#call = call
  }

  async read(runIds: readonly string[]): Promise<LiveMarks> {
    const { run, ...kinds } = scalar<Record<LiveKind, string> & { run: Record<string, string> }>(
      await this.#call('live_marks', { run_ids: runIds }),
    )
    return { kinds, runs: new Map(Object.entries(run)) }
  }
}

import postgres, { type Sql } from 'postgres'
import { type CronSchedule, parseCronSchedule } from './cron-schedule.ts'
import { DatabaseLoop } from './database-loop.ts'
import type { TickerEventListener } from './ticker-event.ts'

export interface CronRunnerOptions {
  /** As a superuser: sees the jobs of all users, and runs none. */
  readonly admin: Sql
  /** A URL with which that user logs in, or undefined if it cannot. */
  readonly urlOf: (username: string) => string | undefined
  readonly onEvent: TickerEventListener
  readonly now: () => number
  readonly intervalMs: number
  /** How many runs of each job stay in cron.job_run_details. */
  readonly keptRuns: number
}

/** A row of cron.job. */
interface JobRow {
  readonly jobid: string
  readonly jobname: string | null
  readonly schedule: string
  readonly command: string
  readonly username: string
}

interface Job {
  row: JobRow
  schedule: CronSchedule | undefined
  dueAt: number
  isRunning: boolean
  runs: number
  client: Sql | undefined
}

/** A job whose turn comes a few milliseconds after a pass would else wait for the next one. */
const DUE_TOLERANCE_MS = 50
const PRUNE_EVERY_RUNS = 20
/** A connection is kept between the runs of a job that runs more often than this. */
const IDLE_CONNECTION_SECONDS = 20

/**
 * Runs the jobs of `cron.job`, as pg_cron does: in UTC, each on a connection of its own user, never twice at once, with each
 * run in `cron.job_run_details`.
 *
 * A job must not be able to act as anybody else. A superuser's connection that was switched to the job's user could be
 * switched back by the job itself (`reset role`, `reset session authorization`), so a job is only ever run on a connection
 * that logged in as its user. A job of a role that cannot log in here fails, and its run says so.
 */
export class CronRunner {
  readonly #options: CronRunnerOptions
  readonly #loop: DatabaseLoop
  readonly #jobs = new Map<string, Job>()
  readonly #running = new Set<Promise<void>>()
  #isSwept = false
  #isStopping = false

  constructor(options: CronRunnerOptions) {
    this.#options = options
    this.#loop = new DatabaseLoop({
      name: 'cron',
      intervalMs: options.intervalMs,
      pass: () => this.#pass(),
      onEvent: options.onEvent,
    })
  }

  start(): void {
    this.#isStopping = false
    this.#isSwept = false
    this.#loop.start()
  }

  /** Breaks off the runs that are not over, and settles when nothing runs. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop.stop()
    await Promise.all([...this.#jobs.values()].map((job) => this.#closeConnection(job)))
    await Promise.all(this.#running)
    this.#jobs.clear()
  }

  async #pass(): Promise<void> {
    const { admin, now } = this.#options
    const [installed] = await admin<{ is: boolean }[]>`select to_regclass('cron.job') is not null as is`
    if (installed?.is !== true) return
    if (!this.#isSwept) await this.#sweep()
    const rows = await admin<JobRow[]>`
      select jobid::text, jobname, schedule, command, username from cron.job
      where active and database = current_database() order by jobid`
    this.#take(rows)
    for (const job of this.#jobs.values()) {
      if (job.isRunning || job.schedule === undefined || job.dueAt > now() + DUE_TOLERANCE_MS) continue
      const run = this.#run(job).finally(() => this.#running.delete(run))
      this.#running.add(run)
    }
  }

  /** Runs of a ticker that did not live to record their end. */
  async #sweep(): Promise<void> {
    await this.#options.admin`
      update cron.job_run_details set status = 'failed', return_message = 'server restarted', end_time = clock_timestamp()
      where status in ('starting', 'running')`
    this.#isSwept = true
  }

  /** Takes over what changed in cron.job. */
  #take(rows: readonly JobRow[]): void {
    const { now } = this.#options
    const ids = new Set(rows.map(({ jobid }) => jobid))
    for (const [id, job] of this.#jobs) {
      if (ids.has(id)) continue
      this.#jobs.delete(id)
      // A run that is under way ends by itself, as there.
      if (!job.isRunning) void this.#closeConnection(job)
    }
    for (const row of rows) {
      const known = this.#jobs.get(row.jobid)
      if (known !== undefined && known.row.schedule === row.schedule) {
        if (known.row.username !== row.username && !known.isRunning) void this.#closeConnection(known)
        known.row = row
        continue
      }
      const schedule = parseCronSchedule(row.schedule)
      const dueAt = schedule?.nextAfter(now()) ?? Number.POSITIVE_INFINITY
      if (known === undefined) {
        this.#jobs.set(row.jobid, { row, schedule, dueAt, isRunning: false, runs: 0, client: undefined })
      } else {
        Object.assign(known, { row, schedule, dueAt })
      }
    }
  }

  async #run(job: Job): Promise<void> {
    const { admin, now, onEvent } = this.#options
    const { row } = job
    job.isRunning = true
    job.dueAt = job.schedule?.nextAfter(now()) ?? Number.POSITIVE_INFINITY
    try {
      const [run] = await admin<{ runid: string }[]>`
        insert into cron.job_run_details (jobid, database, username, command, status, start_time)
        values (${row.jobid}, current_database(), ${row.username}, ${row.command}, 'running', clock_timestamp())
        returning runid::text`
      const outcome = await this.#execute(job)
      if (outcome.status === 'failed' && !this.#isStopping) {
        onEvent({
          type: 'ticker.job_failed',
          jobId: row.jobid,
          jobName: row.jobname ?? undefined,
          message: outcome.message,
        })
      }
      await admin`
        update cron.job_run_details
        set status = ${outcome.status}, return_message = ${outcome.message}, job_pid = ${outcome.pid ?? null},
            end_time = clock_timestamp()
        where runid = ${run!.runid}`
      if (job.runs++ % PRUNE_EVERY_RUNS === 0) await this.#prune(row.jobid)
    } catch {
      // The database is gone: the loop notices it too, tells, and comes back.
    } finally {
      job.isRunning = false
      if (!this.#jobs.has(row.jobid)) await this.#closeConnection(job)
    }
  }

  async #execute(job: Job): Promise<{ status: 'succeeded' | 'failed'; message: string; pid?: number | undefined }> {
    const url = this.#options.urlOf(job.row.username)
    if (url === undefined) {
      const message = `ERROR:  role "${job.row.username}" cannot log in on the local platform; schedule the job as postgres`
      return { status: 'failed', message }
    }
    job.client ??= postgres(url, {
      max: 1,
      idle_timeout: IDLE_CONNECTION_SECONDS,
      onnotice: () => {},
      fetch_types: false,
      connection: { application_name: 'pg_cron' },
    })
    try {
      // Nothing that a run left in its session is there for the next one.
      await job.client.unsafe('discard all').simple()
      const result = await job.client.unsafe(job.row.command).simple()
      const { message, pid } = describeResult(result)
      return { status: 'succeeded', message, pid }
    } catch (error) {
      return { status: 'failed', message: `ERROR:  ${error instanceof Error ? error.message : String(error)}` }
    }
  }

  async #prune(jobId: string): Promise<void> {
    await this.#options.admin`
      delete from cron.job_run_details d where d.jobid = ${jobId} and d.runid <= (
        select k.runid from cron.job_run_details k where k.jobid = ${jobId}
        order by k.runid desc offset ${this.#options.keptRuns} limit 1)`
  }

  async #closeConnection(job: Job): Promise<void> {
    const client = job.client
    job.client = undefined
    await client?.end({ timeout: 0 }).catch(() => {})
  }
}

/** The last statement's result, in pg_cron's words: "3 rows", or the command tag. */
function describeResult(result: unknown): { message: string; pid: number | undefined } {
  const results = result as { command?: string; count?: number; state?: { pid: number } }[] & {
    command?: string
    count?: number
    state?: { pid: number }
  }
  // Several statements give a list of results, one gives the result itself.
  const last = results.command === undefined ? (results.at(-1) ?? {}) : results
  const count = last.count ?? 0
  const message =
    last.command === 'SELECT'
      ? `${count} row${count === 1 ? '' : 's'}`
      : `${last.command ?? ''} ${last.count ?? ''}`.trim()
  return { message, pid: last.state?.pid }
}

import type { Sql } from '@starflow/core'

/** Names one attempt at a task, as a worker's log does. */
export interface AttemptName {
  readonly runId: string
  readonly stepSlug: string
  readonly taskIndex: number
  readonly attempt: number
}

/** What came of an attempt that failed. */
export interface AttemptOutcome {
  readonly errorStack: string | null
  readonly maxAttempts: number
  /** Undefined when there is no further attempt. */
  readonly retryInSeconds: number | undefined
}

const LOOK_EVERY_MS = 100
const LOOK_FOR_MS = 5_000

/**
 * Reads what the database made of a failed attempt. A worker logs a failure before it reports it, so this waits for the
 * report; undefined when none comes within some seconds.
 */
export async function readAttemptOutcome(sql: Sql, name: AttemptName): Promise<AttemptOutcome | undefined> {
  const deadline = Date.now() + LOOK_FOR_MS
  for (;;) {
    const outcome = await lookOnce(sql, name)
    if (outcome !== undefined || Date.now() > deadline) return outcome
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

async function lookOnce(sql: Sql, name: AttemptName): Promise<AttemptOutcome | undefined> {
  const [row] = await sql<
    {
      errorStack: string | null
      maxAttempts: number
      taskStatus: string
      retryInSeconds: number
    }[]
  >`
    select a.error_stack as "errorStack", coalesce(s.opt_max_attempts, f.opt_max_attempts) as "maxAttempts",
           t.status as "taskStatus", greatest(0, coalesce(extract(epoch from t.due_at - clock_timestamp()), 0))::float8 as "retryInSeconds"
    from pgflow.task_attempts a
    join pgflow.step_tasks t using (run_id, step_slug, task_index)
    join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
    join pgflow.flows f on f.flow_slug = t.flow_slug
    where a.run_id = ${name.runId} and a.step_slug = ${name.stepSlug} and a.task_index = ${name.taskIndex} and a.attempt = ${name.attempt}`
  if (row === undefined) return undefined
  const { errorStack, maxAttempts, taskStatus, retryInSeconds } = row
  const isRetried = taskStatus === 'queued' || taskStatus === 'started'
  return { errorStack, maxAttempts, retryInSeconds: isRetried ? retryInSeconds : undefined }
}

/** A metric as monitoring sees it. docs/operations/metrics.md has a row for each, and a test holds the page to this table. */
export interface MetricDefinition {
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
}

/** Read from the database when somebody asks: the same figures from every process on it. */
export const DATABASE_METRICS = {
  starflow_database_up: {
    ...{ type: 'gauge', labels: [] },
    help: '1 when the database has answered for this scrape, else 0; then there are no figures of it',
  },
  starflow_queue_depth: {
    ...{ type: 'gauge', labels: ['queue'] },
    help: 'Messages in the queue, taken or not, counted up to 10 000; none when the queue is gone',
  },
  starflow_queue_in_flight: {
    ...{ type: 'gauge', labels: ['queue'] },
    help: 'Messages that a worker has taken and not settled, among the oldest 10 000',
  },
  starflow_queue_oldest_age_seconds: {
    ...{ type: 'gauge', labels: ['queue'] },
    help: 'How long ago the oldest message was sent; 0 for an empty queue',
  },
  starflow_queue_sent_total: {
    ...{ type: 'counter', labels: ['queue'] },
    help: 'Messages sent to the queue, as the statistics of Postgres count them',
  },
  starflow_queue_archived_total: {
    ...{ type: 'counter', labels: ['queue'] },
    help: 'Messages archived: their tasks have ended. As the statistics of Postgres count them',
  },
  starflow_queue_live_workers: {
    ...{ type: 'gauge', labels: ['queue'] },
    help: 'Workers of the queue with a fresh heartbeat that may claim',
  },
  starflow_queue_uncovered: {
    ...{ type: 'gauge', labels: ['queue'] },
    help: '1 when nothing would claim from it now: no live worker, all its functions disabled, or the queue is gone',
  },
  starflow_runs_open: {
    ...{ type: 'gauge', labels: ['placement', 'status'] },
    help: 'Runs that have not ended, counted up to 10 000 of each',
  },
  starflow_runs_started_total: {
    ...{ type: 'counter', labels: ['placement'] },
    help: 'Runs that were started; on runners, when they are queued',
  },
  starflow_runs_ended_total: {
    ...{ type: 'counter', labels: ['placement', 'status'] },
    help: 'Runs that have ended: success, error or cancelled. One that is retried may end again',
  },
  starflow_open_waits: {
    ...{ type: 'gauge', labels: ['placement'] },
    help: 'Durable waits that nobody has resumed yet, counted up to 10 000',
  },
  starflow_task_claims_total: {
    ...{ type: 'counter', labels: [] },
    help: 'Tasks that workers have claimed on step queues',
  },
  starflow_task_settles_total: {
    ...{ type: 'counter', labels: ['outcome'] },
    help: 'Reports of attempts that were accepted on step queues: completed or failed',
  },
  starflow_stale_reports_total: {
    ...{ type: 'counter', labels: [] },
    help: 'Reports of attempts that were refused: of a task that was put back, settled or ended meanwhile',
  },
  starflow_stalled_requeues_total: {
    ...{ type: 'counter', labels: [] },
    help: 'Tasks put back because their worker did not report in time',
  },
  starflow_run_claims_total: {
    ...{ type: 'counter', labels: [] },
    help: 'Runs that runners have claimed, again after a pause or a loss',
  },
  starflow_runner_queue_depth: {
    ...{ type: 'gauge', labels: ['pool'] },
    help: 'Runs that are due and that a runner of the pool may claim, counted up to 10 000; no pool is the empty one',
  },
  starflow_runner_queue_oldest_age_seconds: {
    ...{ type: 'gauge', labels: ['pool'] },
    help: 'How long the oldest of them has been due',
  },
  starflow_runner_queue_unserved: {
    ...{ type: 'gauge', labels: ['pool'] },
    help: 'Those of them that no live runner serves, counted up to 1000',
  },
  starflow_live_runners: {
    ...{ type: 'gauge', labels: ['pool'] },
    help: 'Runners with a fresh heartbeat',
  },
  starflow_leases_held: {
    ...{ type: 'gauge', labels: [] },
    help: 'Runs that a runner holds',
  },
  starflow_leases_overdue: {
    ...{ type: 'gauge', labels: [] },
    help: 'Those of them whose lease is over, and that the next sweep takes back',
  },
  starflow_leases_lost_total: {
    ...{ type: 'counter', labels: [] },
    help: 'Leases that a sweep has taken back from a lost runner',
  },
  starflow_outbox_unapplied: {
    ...{ type: 'gauge', labels: ['age_bucket'] },
    help: 'Writes that the warm tier has not, by age; only while runs are mirrored',
  },
  starflow_outbox_oldest_age_seconds: {
    ...{ type: 'gauge', labels: [] },
    help: 'How old the oldest of them is; only while runs are mirrored',
  },
  starflow_worker_jobs: {
    ...{ type: 'gauge', labels: ['kind', 'status'] },
    help: 'Jobs of external workers that have not ended: queued or leased',
  },
  starflow_worker_jobs_oldest_age_seconds: {
    ...{ type: 'gauge', labels: ['kind'] },
    help: 'How long ago the oldest queued job was made',
  },
  starflow_alerts_open: {
    ...{ type: 'gauge', labels: ['rule'] },
    help: 'Problems that alerts have opened and not resolved; only where there is one',
  },
} as const satisfies Readonly<Record<`starflow_${string}`, MetricDefinition>>

/** Of this process, since it began. */
export const PROCESS_METRICS = {
  starflow_build_info: {
    ...{ type: 'gauge', labels: ['version', 'role', 'service'] },
    help: 'Always 1: what this process is',
  },
  starflow_ready: {
    ...{ type: 'gauge', labels: [] },
    help: '1 while this process takes part, 0 while it starts or drains',
  },
  starflow_http_request_duration_seconds: {
    ...{ type: 'histogram', labels: ['endpoint', 'status'] },
    help: 'Requests by the operation of the API and the status of the answer; a stream until it begins',
  },
  starflow_runner_active_runs: {
    ...{ type: 'gauge', labels: [] },
    help: 'Runs that this process executes; only of a role that does',
  },
  starflow_runner_concurrency: {
    ...{ type: 'gauge', labels: [] },
    help: 'Runs that it executes at once, at most; only of a role that does',
  },
  starflow_runner_executions_total: {
    ...{ type: 'counter', labels: ['end'] },
    help: 'Executions of runs in this process: success, error, paused, released, lost or stopped',
  },
  starflow_runner_node_attempts_total: {
    ...{ type: 'counter', labels: ['outcome'] },
    help: 'Attempts of steps in this process: completed, retried or failed',
  },
} as const satisfies Readonly<Record<`starflow_${string}`, MetricDefinition>>

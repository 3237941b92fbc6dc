import PgBoss from 'pg-boss'
import type { BenchCluster } from '../cluster.ts'
import type { Contender, Session, Workload } from '../contender.ts'
import type { Progress } from '../measure/progress.ts'
import { installedVersion } from './installed-version.ts'

const JOBS_PER_CALL = 1000
const EMPTY_PAUSE_MS = 3

interface ChainJob {
  readonly key: string
  readonly body: string
}

/**
 * pg-boss. A chain is a job that sends the next job when it ends. At its defaults its workers fetch every 2 s; `tuned`
 * leaves them out and drives `fetch`, `insert` and `complete` in a loop, a batch at a time.
 */
export function pgBoss({ isTuned }: { isTuned: boolean }): Contender {
  return {
    name: isTuned ? 'pg-boss, tuned' : 'pg-boss',
    version: installedVersion('pg-boss'),
    settings: isTuned
      ? 'a loop of fetch, insert and complete per client, in batches; one connection per client'
      : 'defaults: work() polls every 2 s; one worker per client and step, batchSize as the batch',
    pace: ({ steps, batch }) => Math.round((isTuned ? (batch === 1 ? 700 : 5000) : 20 * batch) / steps),
    startPace: 20_000,
    open: (cluster, workload, progress) => openSession(cluster, workload, progress, isTuned),
  }
}

async function openSession(
  cluster: BenchCluster,
  workload: Workload,
  progress: Progress,
  isTuned: boolean,
): Promise<Session> {
  const database = await cluster.create('empty')
  const boss = new PgBoss({ connectionString: cluster.url(database), max: workload.clients, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  for (let step = 0; step < workload.steps; step++) await boss.createQueue(`s${step}`)
  const workers: { stop(): Promise<void> }[] = []
  let started = 0
  return {
    database,
    async start(runs) {
      for (let left = runs; left > 0; left -= JOBS_PER_CALL) {
        const count = Math.min(JOBS_PER_CALL, left)
        await boss.insert(
          Array.from({ length: count }, () => ({ name: 's0', data: { key: String(started++), body: 'y'.repeat(20) } })),
        )
      }
    },
    async startWorkers() {
      for (let client = 0; client < workload.clients; client++) {
        workers.push(
          isTuned
            ? startFetchLoop(boss, workload, progress, client)
            : await startPollingWorkers(boss, workload, progress),
        )
      }
    },
    async stopWorkers() {
      await Promise.all(workers.splice(0).map((worker) => worker.stop()))
    },
    async close() {
      await boss.stop({ graceful: false, wait: true })
      await cluster.drop(database)
    },
  }
}

async function startPollingWorkers(boss: PgBoss, workload: Workload, progress: Progress) {
  const ids: string[] = []
  for (let step = 0; step < workload.steps; step++) {
    ids.push(
      await boss.work<ChainJob>(`s${step}`, { batchSize: workload.batch }, async (jobs) => {
        await handle(boss, jobs, step, workload.steps, progress)
      }),
    )
  }
  return {
    stop: async () => {
      for (const id of ids) await boss.offWork({ id })
    },
  }
}

function startFetchLoop(boss: PgBoss, workload: Workload, progress: Progress, firstStep: number) {
  let isStopping = false
  const loop = (async () => {
    for (let turn = firstStep; !isStopping; turn++) {
      const step = turn % workload.steps
      const jobs = await boss.fetch<ChainJob>(`s${step}`, { batchSize: workload.batch })
      if (jobs.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, EMPTY_PAUSE_MS))
        continue
      }
      await handle(boss, jobs, step, workload.steps, progress)
      await boss.complete(
        `s${step}`,
        jobs.map(({ id }) => id),
      )
    }
  })()
  return {
    stop: async () => {
      isStopping = true
      await loop
    },
  }
}

async function handle(
  boss: PgBoss,
  jobs: readonly PgBoss.Job<ChainJob>[],
  step: number,
  steps: number,
  progress: Progress,
): Promise<void> {
  const isLast = step === steps - 1
  for (const { data } of jobs) {
    progress.began(data.key, step)
    progress.ended(data.key, isLast)
  }
  if (!isLast) await boss.insert(jobs.map(({ data }) => ({ name: `s${step + 1}`, data })))
}

import { Logger, makeWorkerUtils, type Runner, run, runMigrations, type Task, type WorkerUtils } from 'graphile-worker'
import type { BenchCluster } from '../cluster.ts'
import type { Contender, Session, Workload } from '../contender.ts'
import type { Progress } from '../measure/progress.ts'
import { installedVersion } from './installed-version.ts'

const JOBS_PER_CALL = 1000

/**
 * graphile-worker. A chain is a job that adds the next job when it ends. `tuned` is what its page on performance
 * recommends: jobs are fetched in batches by a local queue, and completed in batches.
 */
export function graphileWorker({ isTuned }: { isTuned: boolean }): Contender {
  return {
    name: isTuned ? 'graphile-worker, tuned' : 'graphile-worker',
    version: installedVersion('graphile-worker'),
    settings: isTuned
      ? 'localQueue of 500, completeJobBatchDelay 0, failJobBatchDelay 0, pool of 10; concurrentJobs as many as are in flight'
      : 'defaults (pool of 10); concurrentJobs as many as are in flight',
    // Without the next job to add, a local queue of jobs that do nothing is very fast.
    pace: ({ steps, batch }) => (isTuned && steps === 1 ? 25_000 : Math.round((batch === 1 ? 1200 : 3000) / steps)),
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
  const connectionString = cluster.url(database)
  const logger = new Logger(() => () => {})
  await runMigrations({ connectionString, logger })
  const utils: WorkerUtils = await makeWorkerUtils({ connectionString, logger, maxPoolSize: 1 })
  let runner: Runner | undefined
  let started = 0
  const concurrentJobs = workload.clients * workload.batch
  return {
    database,
    async start(runs) {
      for (let left = runs; left > 0; left -= JOBS_PER_CALL) {
        const count = Math.min(JOBS_PER_CALL, left)
        await utils.addJobs(
          Array.from({ length: count }, () => ({
            identifier: 's0',
            payload: { key: String(started++), body: 'y'.repeat(20) },
          })),
        )
      }
    },
    async startWorkers() {
      runner = await run({
        taskList: chainTasks(workload.steps, progress),
        preset: {
          worker: {
            connectionString,
            logger,
            concurrentJobs,
            maxPoolSize: 10,
            ...(isTuned
              ? {
                  localQueue: { size: Math.max(500, concurrentJobs + 1) },
                  completeJobBatchDelay: 0,
                  failJobBatchDelay: 0,
                }
              : {}),
          },
        },
        noHandleSignals: true,
      })
    },
    async stopWorkers() {
      await runner?.stop()
      runner = undefined
    },
    async close() {
      await runner?.stop()
      await utils.release()
      await cluster.drop(database)
    },
  }
}

function chainTasks(steps: number, progress: Progress): Record<string, Task> {
  const tasks: Record<string, Task> = {}
  for (let step = 0; step < steps; step++) {
    const isLast = step === steps - 1
    tasks[`s${step}`] = async (payload, { addJob }) => {
      const { key } = payload as { key: string }
      progress.began(key, step)
      progress.ended(key, isLast)
      if (!isLast) await addJob(`s${step + 1}`, payload as object)
    }
  }
  return tasks
}

import { DBOS } from '@dbos-inc/dbos-sdk'
import type { BenchCluster } from '../cluster.ts'
import type { Contender, Session, Workload } from '../contender.ts'
import type { Progress } from '../measure/progress.ts'
import { installedVersion } from './installed-version.ts'

const STARTS_AT_ONCE = 10

const silent = { info() {}, debug() {}, warn() {}, error() {} }

/**
 * DBOS Transact. A run is a workflow with a durable step for each step of the chain. At its defaults workflows are called
 * where they are wanted, as many at a time as are in flight; `queued` puts them into a queue first and lets that work them
 * off, polled as fast as it can be.
 */
export function dbos({ isQueued }: { isQueued: boolean }): Contender {
  return {
    name: isQueued ? 'dbos, queued' : 'dbos',
    version: installedVersion('@dbos-inc/dbos-sdk'),
    settings: isQueued
      ? 'a queue with workerConcurrency as many as are in flight, minPollingIntervalMs 10, pool of 20'
      : 'defaults (pool of 10); workflows called directly, starting them is part of the work',
    pace: ({ steps }) => Math.round(900 / steps),
    startPace: 1500,
    open: (cluster, workload, progress) => openSession(cluster, workload, progress, isQueued),
  }
}

async function openSession(
  cluster: BenchCluster,
  workload: Workload,
  progress: Progress,
  isQueued: boolean,
): Promise<Session> {
  const database = await cluster.create('empty')
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: cluster.url(database),
    logger: silent,
    ...(isQueued ? { systemDatabasePoolSize: 20 } : {}),
  })
  const inFlight = workload.clients * workload.batch
  const chain = DBOS.registerWorkflow(
    async (key: string, _body: string) => {
      for (let step = 0; step < workload.steps; step++) {
        await DBOS.runStep(
          async () => {
            progress.began(key, step)
            progress.ended(key, false)
            return { ok: true, at: 'bench' }
          },
          { name: `s${step}` },
        )
      }
      progress.add(0, 1)
    },
    { name: 'chain' },
  )
  await DBOS.launch()
  let started = 0
  let expected = 0
  let loops: Promise<void>[] = []
  let isStopping = false
  let isWorking = false
  // A queue is worked off from the moment it is registered, so what is started goes into one that is not yet.
  let queues = 0

  const call = async () => {
    while (expected > 0 && !isStopping) {
      expected -= 1
      await chain(String(started++), 'y'.repeat(20))
    }
  }
  return {
    database,
    start: isQueued
      ? async (runs) => {
          let left = runs
          const enqueue = async () => {
            while (left-- > 0) {
              await DBOS.enqueueWorkflowWithOptions(
                { workflowName: 'chain', queueName: `bench${isWorking ? queues - 1 : queues}` },
                String(started++),
                'y'.repeat(20),
              )
            }
          }
          await Promise.all(Array.from({ length: STARTS_AT_ONCE }, enqueue))
        }
      : null,
    expect(runs) {
      expected += runs
      if (loops.length > 0) loops.push(...Array.from({ length: Math.min(inFlight, runs) }, call))
    },
    async startWorkers() {
      isStopping = false
      isWorking = true
      if (isQueued) {
        await DBOS.registerQueue(`bench${queues++}`, { workerConcurrency: inFlight, minPollingIntervalMs: 10 })
        return
      }
      loops = [Promise.resolve(), ...Array.from({ length: Math.min(inFlight, expected) }, call)]
    },
    async stopWorkers() {
      isStopping = true
      isWorking = false
      await Promise.all(loops)
      loops = []
    },
    async close() {
      await DBOS.shutdown({ deregister: true, workflowCompletionTimeoutMS: 5000 })
      await cluster.drop(database)
    },
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { StarflowSql } from '@starflow/core'
import { resolveDenoBinary } from '@starflow/local'
import type { BenchCluster } from '../cluster.ts'
import type { Contender, Session, WorkerProcess, Workload } from '../contender.ts'
import type { Progress } from '../measure/progress.ts'
import { chainInputs, compileChain } from '../starflow/chain-flow.ts'
import { workerHost } from '../starflow/worker-host.ts'

const RUNS_PER_CALL = 1000
const MS_PER_TICK = 10

/** EdgeWorker as it is, one worker per step queue, in this process or in one of Deno. */
export function starflowWorkers({ runtime }: { runtime: 'Node' | 'Deno' }): Contender {
  return {
    name: `starflow, ${runtime} workers`,
    version: 'this one',
    settings: 'one EdgeWorker per step in one process; maxConcurrent and batchSize as the batch',
    pace: ({ steps, batch }) => Math.round((batch <= 10 ? 2500 : 6000) / steps),
    startPace: 20_000,
    open: (cluster, workload, progress) => openSession(cluster, workload, progress, runtime),
  }
}

interface Host {
  readonly process: WorkerProcess
  stop(): Promise<void>
}

async function openSession(
  cluster: BenchCluster,
  workload: Workload,
  progress: Progress,
  runtime: 'Node' | 'Deno',
): Promise<Session> {
  const database = await cluster.create('starflow')
  const starter = cluster.connect(database)
  const core = new StarflowSql(starter)
  const { flowSlug } = await compileChain(starter, 3)
  let started = 0
  let host: Host | undefined
  return {
    database,
    workers: {
      cpuMs: () => host!.process.cpuMs(),
      report: () => host!.process.report(),
    },
    async start(runs) {
      for (let left = runs; left > 0; left -= RUNS_PER_CALL) {
        const count = Math.min(RUNS_PER_CALL, left)
        await core.startFlows(flowSlug, chainInputs(started, count))
        started += count
      }
    },
    async startWorkers() {
      const start = runtime === 'Node' ? startInNode : startInDeno
      host = await start(cluster.url(database), workload.batch, progress)
    },
    async stopWorkers() {
      await host?.stop()
      host = undefined
    },
    async close() {
      await host?.stop()
      await starter.end()
      await cluster.drop(database)
    },
  }
}

async function startInNode(databaseUrl: string, batch: number, progress: Progress): Promise<Host> {
  const host = workerHost({ databaseUrl, maxConcurrent: batch, batchSize: batch, progress })
  await host.start()
  return {
    process: {
      cpuMs: () => {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1000
      },
      report: async () => {
        const counts = { ...host.counts }
        Object.assign(host.counts, { calls: 0, settlingCalls: 0, settledTasks: 0 })
        return counts
      },
    },
    stop: () => host.stop(),
  }
}

interface DenoMessage {
  readonly ready?: true
  readonly steps?: number
  readonly runs?: number
  readonly report?: { handOffs: number[]; calls: number; settlingCalls: number; settledTasks: number }
}

async function startInDeno(databaseUrl: string, batch: number, progress: Progress): Promise<Host> {
  const script = fileURLToPath(new URL('../starflow/deno-workers.ts', import.meta.url))
  const permissions = ['--allow-net', '--allow-env', '--allow-sys', '--allow-read']
  const child = spawn(
    resolveDenoBinary(),
    [
      'run',
      '--no-prompt',
      '--cached-only',
      '--node-modules-dir=manual',
      '--no-config',
      '--no-check',
      ...permissions,
      script,
    ],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...process.env,
        BENCH_DATABASE_URL: databaseUrl,
        BENCH_MAX_CONCURRENT: String(batch),
        DENO_NO_UPDATE_CHECK: '1',
      },
    },
  )
  const endWithProcess = () => child.kill('SIGKILL')
  process.once('exit', endWithProcess)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let heard: (message: DenoMessage) => void = () => {}
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as DenoMessage
    if (message.steps !== undefined) progress.add(message.steps, message.runs ?? 0)
    heard(message)
  })
  const next = (wanted: (message: DenoMessage) => boolean) =>
    new Promise<DenoMessage>((resolve, reject) => {
      void ended.then(() => reject(new Error('The Deno workers ended.')))
      heard = (message) => {
        if (wanted(message)) resolve(message)
      }
    })
  await next(({ ready }) => ready === true)
  return {
    process: {
      cpuMs: () => cpuMsOf(child),
      report: async () => {
        const answer = next(({ report }) => report !== undefined)
        child.stdin.write('report\n')
        const { handOffs, ...counts } = (await answer).report!
        progress.handOffs.push(...handOffs)
        return counts
      },
    },
    stop: async () => {
      child.stdin.end('stop\n')
      await ended
      process.off('exit', endWithProcess)
    },
  }
}

function cpuMsOf(child: ChildProcess): number {
  const text = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
}

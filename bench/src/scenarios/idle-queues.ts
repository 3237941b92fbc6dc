import { setTimeout as delay } from 'node:timers/promises'
import { type AnyFlow, Flow, withStepQueues } from '@starflow/dsl'
import { difference, PostgresMeter } from '../measure/postgres-meter.ts'
import type { Figures } from '../report/row.ts'
import { interleave } from '../rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { hostWorkers } from '../starflow/worker-host.ts'

const QUEUES = 20
/** Until every worker has slowed down to its idle pace. */
const SETTLE_MS = 4000

export const idleQueues: Scenario = {
  name: 'idle-queues',
  title: '20 idle queues',
  about:
    'A flow of 20 steps with 20 real workers in one process and nothing to do, at their idle pace (a poll a second each, which is their heartbeat too). Beside it the same pace of 20 connections that only say select 1: what waking up a connection costs on this machine.',
  columns: [
    { figure: 'postgresShare', title: 'Postgres, of a core', as: 'percent', digits: 2 },
    { figure: 'workersShare', title: 'clients, of a core', as: 'percent', digits: 2 },
    { figure: 'callsPerSecond', title: 'calls/s', digits: 1 },
  ],
  run: (bench) =>
    interleave(bench, [
      { labels: { queues: QUEUES, system: 'starflow, Node workers' }, measure: () => idle(bench) },
      { labels: { queues: QUEUES, system: 'select 1' }, measure: () => bare(bench) },
    ]),
}

async function idle({ cluster, scale }: Bench): Promise<Figures> {
  const database = await cluster.create('starflow')
  const sql = cluster.connect(database)
  const meter = new PostgresMeter(cluster.server.pid, sql)
  let flow = new Flow<object>({ slug: 'benchIdle' }).step({ slug: 's0' }, () => null) as unknown as AnyFlow
  const slugs = ['s0']
  for (let index = 1; index < QUEUES; index++) {
    // Built in a loop, so its types cannot be followed.
    const extendable = flow as unknown as { step(options: { slug: string }, handler: () => null): AnyFlow }
    flow = extendable.step({ slug: `s${index}` }, () => null)
    slugs.push(`s${index}`)
  }
  const host = hostWorkers(withStepQueues(flow), slugs, {
    databaseUrl: cluster.url(database),
    maxConcurrent: 10,
    batchSize: 10,
  })
  try {
    await host.start()
    await delay(scale.pick(SETTLE_MS, 200))
    return await measureIdle(scale, meter, () => host.counts.calls)
  } finally {
    await host.stop()
    await sql.end()
    await cluster.drop(database)
  }
}

/** As many connections, each of which asks for nothing once a second. */
async function bare({ cluster, scale }: Bench): Promise<Figures> {
  const database = await cluster.create('empty')
  const sql = cluster.connect(database)
  const connections = Array.from({ length: QUEUES }, () => cluster.connect(database))
  let calls = 0
  const ask = async (connection: (typeof connections)[number]) => {
    calls++
    await connection`select 1`
  }
  await Promise.all(connections.map(ask))
  const asked: Promise<void>[] = []
  let next = 0
  const timer = setInterval(() => asked.push(ask(connections[next++ % QUEUES]!)), 1000 / QUEUES)
  try {
    return await measureIdle(scale, new PostgresMeter(cluster.server.pid, sql), () => calls)
  } finally {
    clearInterval(timer)
    await Promise.all(asked)
    await Promise.all([sql, ...connections].map((connection) => connection.end()))
    await cluster.drop(database)
  }
}

async function measureIdle(scale: Bench['scale'], meter: PostgresMeter, calls: () => number): Promise<Figures> {
  const seconds = scale.pick(20, 0.5)
  const before = { postgres: await meter.read(), own: process.cpuUsage(), calls: calls() }
  await delay(seconds * 1000)
  const own = process.cpuUsage(before.own)
  const { cpuMs } = difference(before.postgres, await meter.read())
  return {
    postgresShare: cpuMs / 1000 / seconds,
    workersShare: (own.user + own.system) / 1e6 / seconds,
    callsPerSecond: (calls() - before.calls) / seconds,
  }
}

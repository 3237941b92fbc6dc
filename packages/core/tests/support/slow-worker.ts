/*
 * A worker in a process of its own, so that a test can stop it in mid-task. It claims one batch, says so, and reports it when
 * it is told to:  node --import tsx slow-worker.ts DATABASE_URL QUEUE FLOW STEP WORKER_ID
 */
import { createInterface } from 'node:readline'
import postgres from 'postgres'
import { StarflowSql } from '../../src/index.ts'
import { completed } from './compiled-flow.ts'

const [url, queueName, flowSlug, stepSlug, workerId] = process.argv.slice(2) as [string, string, string, string, string]
const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} })
const core = new StarflowSql(sql)
const say = (fact: unknown) => process.stdout.write(`${JSON.stringify(fact)}\n`)

const { claimed } = await core.settleAndClaim({
  workerId,
  reports: [],
  queueName,
  flowSlug,
  stepSlug,
  qty: 10,
  onUnsupported: 'skip',
})
say({ claimed: claimed.map((task) => task.attempt) })
for await (const _ of createInterface({ input: process.stdin })) {
  say({
    settled: await core.settleTasks(
      workerId,
      claimed.map((task) => completed(task, 'zombie')),
    ),
  })
  const next = await core.settleAndClaim({
    workerId,
    reports: [],
    queueName,
    flowSlug,
    stepSlug,
    qty: 10,
    onUnsupported: 'skip',
  })
  say({ claimed: next.claimed.map((task) => task.attempt) })
}
await sql.end()

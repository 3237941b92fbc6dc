import { randomUUID } from 'node:crypto'
import { type ClaimedTask, StarflowSql } from '@starflow/core'
import { extractFlowShape, type HandledStep } from '@starflow/dsl'
import type {} from '@starflow/edge-worker'
import { beforeAll, expect, test } from 'vitest'
import type { DocumentInput } from '../../../functions/_flows/readme-index/document.ts'
import { readmeIndex } from '../../../functions/_flows/readme-index.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { applyDemoSchema } from '../src/demo/apply-schema.ts'
import { lookForBusyWorkers } from '../src/demo/chaos.ts'
import { forgetEarlierDemos } from '../src/demo/demo-index.ts'
import { readProgress } from '../src/demo/progress.ts'
import { startRuns } from '../src/demo/start-runs.ts'
import { readRunFacts, summarize } from '../src/demo/summary.ts'
import { waitForWorkers } from '../src/demo/wait-for-workers.ts'

const { sql } = await testDatabase()
const core = new StarflowSql(sql)
const flowSlug = readmeIndex.flow.slug
const workers = new Map<string, { queueName: string; workerId: string }>(
  readmeIndex.routes.map((route) => [route.stepSlug, { ...route, workerId: randomUUID() }]),
)

const document = (name: string, markdown: string): DocumentInput => ({
  package: name,
  version: '1.0.0',
  path: 'README.md',
  markdown,
  files: ['README.md', 'LICENSE'],
  filesComplete: true,
})
const documents = [
  document('sound', '# Sound\n\nSee [the licence](LICENSE) and [the top](#sound).'),
  document('broken', '# Broken\n\nSee [the guide](docs/guide.md), [a part](#nowhere) and [the licence](LICENSE).'),
  document('plain', '# Plain\n\nNo links.'),
]

beforeAll(async () => {
  await applyDemoSchema(sql)
  const result = await core.ensureFlowCompiled({
    flowSlug,
    shape: extractFlowShape(readmeIndex.flow),
    queueMode: 'step',
    routeMap: readmeIndex.routes,
  })
  expect(result.status).toBe('compiled')
})

const claim = (step: string, qty = 100) => {
  const { workerId, queueName } = workers.get(step)!
  return core.settleAndClaim({
    ...{ workerId, queueName, flowSlug, stepSlug: step },
    reports: [],
    qty,
    onUnsupported: 'skip',
  })
}

/** Calls the flow's own handler, with the part of a worker's context that this flow uses. */
function handle(task: ClaimedTask): unknown {
  const step = readmeIndex.flow.getStepDefinition(task.stepSlug) as HandledStep
  const context = {
    sql,
    stepTask: { run_id: task.runId },
    get flowInput() {
      return core.flowInput(task.runId)
    },
  }
  return step.handler(step.dependencies.length === 0 ? task.flowInput : task.input, context)
}

/** Works all queues until none has a task, in the worker's own way but in this process. */
async function workUntilIdle(): Promise<void> {
  for (let found = 1; found > 0; ) {
    found = 0
    for (const [step, { workerId }] of workers) {
      const { claimed } = await claim(step)
      found += claimed.length
      const reports = await Promise.all(
        claimed.map(async (task) => ({
          ...task,
          status: 'completed' as const,
          output: JSON.stringify(await handle(task)),
        })),
      )
      await core.settleTasks(workerId, reports)
    }
  }
}

test('the demo goes from start to summary on the real SQL core', async () => {
  const before = new Date(Date.now() - 1_000)
  const wait = (timeoutMs: number) =>
    waitForWorkers(sql, flowSlug, { since: before, signal: new AbortController().signal, timeoutMs })
  await expect(wait(0)).rejects.toMatchObject({ code: 'SF604' })
  for (const { workerId, queueName } of workers.values()) {
    await core.registerWorker({ workerId, executionId: workerId, queueName, functionName: queueName })
  }
  await wait(0)

  const runIds = await startRuns(sql, flowSlug, documents)
  const started = await readProgress(sql, flowSlug, runIds)
  expect(started.runs).toEqual({ started: 3, completed: 0, failed: 0 })
  expect(started.queues.map((queue) => queue.queue)).toEqual(readmeIndex.routes.map((route) => route.queueName))
  expect(started.queues[0]).toMatchObject({
    step: 'parse',
    queued: 3,
    inFlight: 0,
    done: 0,
    attempts: 0,
    liveWorkers: 1,
  })

  const { claimed } = await claim('parse', 1)
  const parser = workers.get('parse')!
  const view = await lookForBusyWorkers(sql, runIds)
  expect(view.busy).toMatchObject([
    { workerId: parser.workerId, executionId: parser.workerId, step: 'parse', queue: parser.queueName },
  ])
  expect(view.busy[0]!.registeredAtMs).toBeLessThanOrEqual(view.nowMs)
  expect(view.lastStepsStarted).toBe(false)
  expect((await readProgress(sql, flowSlug, runIds)).queues[0]).toMatchObject({ queued: 2, inFlight: 1, attempts: 1 })

  const afterKill = await readProgress(sql, flowSlug, runIds, { killed: [parser.workerId] })
  expect(afterKill.queues.map((queue) => queue.liveWorkers)).toEqual([0, ...Array(6).fill(1)])
  // The timeout of parse is 5 s, and 30 s later the task is given out again.
  expect(afterKill.stranded).toMatchObject({ tasks: 1, backInSeconds: expect.any(Number) })
  expect(afterKill.stranded!.backInSeconds).toBeGreaterThan(25)
  expect(afterKill.stranded!.backInSeconds).toBeLessThanOrEqual(35)
  const idle = workers.get('links')!.workerId
  expect((await readProgress(sql, flowSlug, runIds, { killed: [idle] })).stranded).toBeNull()

  await core.settleTasks(parser.workerId, [
    { ...claimed[0]!, status: 'completed', output: JSON.stringify(await handle(claimed[0]!)) },
  ])

  await workUntilIdle()
  expect((await readProgress(sql, flowSlug, runIds)).runs).toEqual({ started: 0, completed: 3, failed: 0 })
  expect(await lookForBusyWorkers(sql, runIds)).toMatchObject({ busy: [], lastStepsStarted: true })

  const summary = summarize(await readRunFacts(sql, flowSlug, runIds), {
    ...{ documents: 3, skippedDocuments: 0, chaos: false, killed: 0, cpuMs: undefined },
  })
  expect(summary).toMatchObject({
    runs: 3,
    completed: 3,
    failed: 0,
    lost: 0,
    extraAttempts: 0,
    brokenLinks: 2,
    documentsWithBrokenLinks: 1,
  })
  expect(Object.fromEntries(summary.queues.map((queue) => [queue.step, queue.tasks]))).toEqual({
    ...{ parse: 3, links: 3, checkLinks: 5, keywords: 3, index: 3, summary: 3, report: 1 },
  })
  expect(summary.queues[0]!.waitP95Ms).toBeGreaterThanOrEqual(summary.queues[0]!.waitP50Ms!)
  expect(summary.queues[0]!.waitP50Ms).toBeGreaterThan(0)
  expect(await sql`select document_id, target from demo.broken_links order by target`).toEqual([
    { document_id: 'broken@1.0.0/README.md', target: '#nowhere' },
    { document_id: 'broken@1.0.0/README.md', target: 'docs/guide.md' },
  ])
})

test('a run that was never started counts as lost', async () => {
  const facts = await readRunFacts(sql, flowSlug, [randomUUID()])
  expect(
    summarize(facts, { documents: 1, skippedDocuments: 0, chaos: false, killed: 0, cpuMs: undefined }),
  ).toMatchObject({
    ...{ completed: 0, failed: 0, lost: 1, tasks: 0, seconds: 0, brokenLinks: 0 },
  })
})

test('a worker that takes nothing new still counts while it finishes', async () => {
  const { workerId } = workers.get('report')!
  const before = (await readProgress(sql, flowSlug, [])).queues.find(({ step }) => step === 'report')!.liveWorkers
  await sql`update pgflow.workers set deprecated_at = now(), last_heartbeat_at = now() where worker_id = ${workerId}`
  const after = (await readProgress(sql, flowSlug, [])).queues.find(({ step }) => step === 'report')!.liveWorkers
  expect([before, after]).toEqual([1, 1])
})

test('a new demo begins with an empty index, and cancels runs that an interrupted one left open', async () => {
  const runIds = await startRuns(sql, flowSlug, documents)
  expect(await sql`select from demo.documents`).not.toHaveLength(0)
  await forgetEarlierDemos(sql, flowSlug)
  expect(await sql`select from demo.documents`).toHaveLength(0)
  expect(await sql`select distinct status from pgflow.runs where run_id = any(${runIds}::uuid[])`).toEqual([
    { status: 'cancelled' },
  ])
})

import { StarflowSql } from '@starflow/core'
import { defineWorkers, Flow, withStepQueues } from '@starflow/dsl'
import { afterEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { resolveWorkerConfig } from '../src/worker-config.ts'
import { queueWorkerOn, type RunningFunction, workerFunctionOn } from './support/running-function.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)

const running: RunningFunction[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((worker) => worker.stop()))
})

type Arguments = Parameters<typeof workerFunctionOn>

function workerOn(flow: Arguments[1], options: Arguments[2] = {}): RunningFunction {
  const worker = workerFunctionOn(url, flow, options)
  running.push(worker)
  return worker
}

const flow = (slug: string) => new Flow({ slug }).step({ slug: 'work' }, () => 1).step({ slug: 'more' }, () => 2)
const refusal = (make: () => unknown) => {
  try {
    make()
  } catch (error) {
    return error
  }
  return undefined
}

describe('a start call that cannot work is refused at once, with what to do:', () => {
  test('no stepSlug for a step-queued flow', () => {
    expect(refusal(() => workerFunctionOn(url, withStepQueues(flow('a'))))).toMatchObject({
      code: 'SF114',
      detail: 'Its steps are: work, more.',
      hint: "EdgeWorker.start(flow, { stepSlug: 'work' })",
    })
  })

  test('a stepSlug for a plain flow', () => {
    expect(refusal(() => workerFunctionOn(url, flow('a'), { stepSlug: 'work' }))).toMatchObject({ code: 'SF115' })
  })

  test('a step that the flow does not have, with those that it has', () => {
    const error = refusal(() => workerFunctionOn(url, withStepQueues(flow('a')), { stepSlug: 'wrok' })) as Error
    expect(error).toMatchObject({ code: 'SF107', fields: { knownSlugs: ['work', 'more'] } })
    expect(`${error.message} ${(error as { hint?: string }).hint}`).toContain('work')
  })

  test('a queue worker without a queue, with wrong retry rules, all at once', () => {
    const options = { queueName: '', retry: { limit: -1, strategy: 'often' as 'fixed' } }
    expect(refusal(() => queueWorkerOn(url, () => {}, options))).toMatchObject({
      code: 'SF001',
      fields: { problems: [expect.stringContaining('queueName'), expect.anything(), expect.anything()] },
    })
  })

  test('settings that cannot be, all at once', () => {
    expect(refusal(() => resolveWorkerConfig({ maxConcurrent: 0, pollIntervalMs: 5 }))).toMatchObject({
      fields: { problems: [expect.stringContaining('maxConcurrent'), expect.stringContaining('pollIntervalMs')] },
    })
  })
})

describe('a worker', () => {
  test('names the SQL functions that are gone, starts when they are back, and leaves no row meanwhile', async () => {
    await sql`alter function pgflow.release_tasks(uuid, jsonb) rename to hidden_release_tasks`
    const functionName = 'misses_functions'
    const worker = workerOn(flow('missesFunctions'), { functionName })
    expect(await worker.ask()).toMatchObject({
      http: 500,
      code: 'SF403',
      detail: 'Missing, or with other parameters: pgflow.release_tasks.',
      hint: expect.stringContaining('Apply the migrations'),
    })
    expect(await sql`select from pgflow.workers where function_name = ${functionName}`).toHaveLength(0)
    await sql`alter function pgflow.hidden_release_tasks(uuid, jsonb) rename to release_tasks`
    expect(await worker.ask()).toMatchObject({ status: 'started' })
  })

  test('stops claiming when a function that it calls goes away, and says why when it is started again', async () => {
    const worker = workerOn(flow('losesFunctions'), { maxPollIntervalMs: 20 })
    await worker.ask()
    await sql`alter function pgflow.settle_and_claim(uuid, jsonb, text, text, integer, text, text, boolean) rename to hidden_claim`
    try {
      expect(await worker.event('worker.deprecated')).toMatchObject({ reason: 'refused' })
      await worker.event('worker.stopped')
      expect(await worker.ask()).toMatchObject({ http: 500, code: 'SF403' })
    } finally {
      await sql`alter function pgflow.hidden_claim(uuid, jsonb, text, text, integer, text, text, boolean) rename to settle_and_claim`
    }
    expect(await worker.ask()).toMatchObject({ status: 'started' })
  })

  test('states how many connections all workers may need, and warns when the database has fewer', async () => {
    const modest = workerOn(flow('modest'), { maxPgConnections: 3 })
    await modest.ask()
    const { connectionsNeeded, maxConnections } = await modest.event('worker.started')
    expect(maxConnections).toBe(200)
    expect(connectionsNeeded).toBeGreaterThanOrEqual(6)
    expect(connectionsNeeded % 6).toBe(0)
    const greedy = workerOn(flow('greedy'), { maxPgConnections: 1000 })
    await greedy.ask()
    expect(await greedy.event('connections.short')).toMatchObject({
      maxConnections: 200,
      hint: expect.stringContaining('Lower maxPgConnections'),
    })
  })
})

describe('a worker function that halts on a foreign message', () => {
  test('does so too when defineWorkers says it for its step, and leaves other steps alone', async () => {
    const queued = withStepQueues(flow('haltingSteps'))
    const { settings } = defineWorkers(queued, { work: { onUnsupportedMessage: 'halt' } })
    const [halting, other] = (['work', 'more'] as const).map((stepSlug) =>
      workerOn(queued, { functionName: `fn_${stepSlug}`, stepSlug, ...settings[stepSlug] }),
    )
    await Promise.all([halting!.ask(), other!.ask()])
    for (const queue of ['haltingsteps__work', 'haltingsteps__more']) await sql`select pgmq.send(${queue}, '{}')`
    await Promise.all([halting!.event('worker.halted'), other!.event('message.unsupported')])
    await halting!.event('worker.stopped')
    expect(await halting!.ask()).toMatchObject({ status: 'fenced' })
    expect(await other!.ask()).toMatchObject({ status: 'running' })
    expect(
      await sql`select function_name, enabled from pgflow.worker_functions where function_name in ('fn_work', 'fn_more') order by 1`,
    ).toEqual([
      { function_name: 'fn_more', enabled: true },
      { function_name: 'fn_work', enabled: false },
    ])
  })

  test('claims none of the batch, is not restarted by requests, and goes on when an operator enables it', async () => {
    const functionName = 'halting_function'
    const options = { functionName, onUnsupportedMessage: 'halt', maxPollIntervalMs: 20 } as const
    await core.trackWorkerFunction(functionName)
    const [ownRun] = await (async () => {
      const compiling = workerOn(flow('halting'))
      await compiling.ask()
      await compiling.stop()
      const runIds = await core.startFlows('halting', [{}])
      await sql`select pgmq.send('halting', '{"secret": "made by hand"}'::jsonb)`
      return runIds
    })()
    const worker = workerOn(flow('halting'), options)
    expect(await worker.ask()).toMatchObject({ status: 'started' })
    expect(await worker.event('worker.halted')).toMatchObject({ level: 'error' })
    await worker.event('worker.stopped')
    for (let request = 0; request < 2; request++) {
      expect(await worker.ask()).toMatchObject({ http: 200, status: 'fenced' })
    }
    const tasks = await sql`select status, attempts_count from pgflow.step_tasks where run_id = ${ownRun!}`
    expect(tasks).toEqual([
      { status: 'queued', attempts_count: 0 },
      { status: 'queued', attempts_count: 0 },
    ])
    expect(JSON.stringify(worker.events)).not.toContain('made by hand')

    await sql`select pgmq.archive('halting', message_id) from pgflow.unsupported_messages where queue_name = 'halting'`
    await sql`select pgflow.enable_worker_functions(array[${functionName}])`
    expect(await worker.ask()).toMatchObject({ status: 'started' })
    for (;;) {
      const [run] = await sql`select status from pgflow.runs where run_id = ${ownRun!}`
      if (run?.status === 'completed') break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })
})

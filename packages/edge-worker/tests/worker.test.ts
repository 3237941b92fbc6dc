import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { StarflowSql } from '@starflow/core'
import { type AnyFlow, Flow, type Json, RetryLater, type StepQueuedFlow, withStepQueues } from '@starflow/dsl'
import { afterEach, describe, expect, test } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { type RunningFunction, workerFunctionOn } from './support/running-function.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
await sql`create table public.effects (run_id uuid, step_slug text, task_index integer, attempt integer, at timestamptz default clock_timestamp())`

const running: RunningFunction[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((workerFunction) => workerFunction.stop()))
})

function workerOn(
  definition: AnyFlow | StepQueuedFlow<AnyFlow>,
  options: Parameters<typeof workerFunctionOn>[2] = {},
): RunningFunction {
  const workerFunction = workerFunctionOn(url, definition, options)
  running.push(workerFunction)
  return workerFunction
}

/** Workers for all steps, each in its own function. */
function workersOn(definition: StepQueuedFlow<AnyFlow>, options: Parameters<typeof workerFunctionOn>[2] = {}) {
  return definition.routes.map(({ stepSlug }) => workerOn(definition, { ...options, stepSlug }))
}

/** Asks the database until it answers true; it has no way to tell us. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function statusesOf(runIds: readonly string[]): Promise<(string | undefined)[]> {
  const rows = await sql<{ run_id: string; status: string }[]>`
    select run_id, status from pgflow.runs where run_id in ${sql([...runIds])}`
  return runIds.map((runId) => rows.find((row) => row.run_id === runId)?.status)
}

async function ended(runIds: readonly string[]): Promise<void> {
  await until(async () => (await statusesOf(runIds)).every((status) => status !== 'started'))
}

const outputOf = async (runId: string) =>
  (await sql<{ output: Json }[]>`select output from pgflow.runs where run_id = ${runId}`)[0]?.output

const tasksOf = (runId: string) =>
  sql<
    { step_slug: string; task_index: number; status: string; attempts_count: number; error_message: string | null }[]
  >`
    select step_slug, task_index, status, attempts_count, error_message from pgflow.step_tasks
    where run_id = ${runId} order by step_slug, task_index`

/** As if the recovery boundary of a started task had passed: pgmq has its own clock, so the rows are aged. */
async function ageTask(runId: string, queueName: string): Promise<void> {
  await sql`update pgflow.step_tasks set queued_at = queued_at - interval '2 hours', started_at = started_at - interval '1 hour'
    where run_id = ${runId}`
  await sql`select pgmq.set_vt(${queueName}, message_id, 0) from pgflow.step_tasks where run_id = ${runId}`
}

const everyKind = (slug: string) =>
  new Flow<{ items: number[]; vip: boolean }>({ slug })
    .array({ slug: 'load' }, ({ items }) => items)
    .map({ slug: 'price', array: 'load' }, (item) => item * 10)
    .step({ slug: 'sum', dependsOn: ['price'] }, ({ price }) => price.reduce((total, one) => total + one, 0))
    .step({ slug: 'gift', if: { vip: true } }, () => 'gift')
    .step({ slug: 'ship', dependsOn: ['sum', 'gift'] }, async ({ sum, gift }, ctx) => ({
      sum,
      gift: gift ?? 'none',
      vip: (await ctx.flowInput).vip,
    }))

describe('a worker', () => {
  test('hands no handler a number that JavaScript would round: the attempt fails for good, with the path', async () => {
    const seen: Json[] = []
    const flow = new Flow<{ id: number }>({ slug: 'largeIds', maxAttempts: 5 }).step(
      { slug: 'root' },
      (input) => void seen.push(input),
    )
    const mapped = new Flow<number[]>({ slug: 'largeElements' }).map(
      { slug: 'each' },
      async (_id, ctx) => void seen.push(await ctx.flowInput),
    )
    await Promise.all([workerOn(flow).ask(), workerOn(mapped).ask()])
    const [run] = await sql`select run_id from pgflow.start_flow('largeIds', '{"id": 1970670598291982290}')`
    const [map] = await sql`select run_id from pgflow.start_flow('largeElements', '[1, 9007199254740993]')`
    await ended([run!.run_id, map!.run_id])
    expect(seen).toEqual([])
    const told = (path: string) => ({
      ...{ status: 'failed', attempts_count: 1 },
      error_message: `The input cannot be handed to JavaScript: ${path} has more digits than a JavaScript number holds; send it as a string.`,
    })
    expect(await tasksOf(run!.run_id)).toMatchObject([told('$.id')])
    const elements = (await tasksOf(map!.run_id)).filter(({ status }) => status === 'failed')
    // The first one to fail ends the run, and with it the other.
    expect([told('$[1]'), told('$')].map(({ error_message }) => error_message)).toContain(elements[0]!.error_message)
  })

  test('names its own flow, step and queue while it starts, and those of nobody else', async () => {
    const flow = withStepQueues(
      new Flow({ slug: 'saysLittle' })
        .step({ slug: 'mine' }, () => 1)
        .step({ slug: 'theirs', dependsOn: ['mine'] }, () => 2),
    )
    const [worker] = [workerOn(flow, { stepSlug: 'mine' }), workerOn(flow, { stepSlug: 'theirs' })]
    await Promise.all(running.map((each) => each.ask()))
    expect(await worker.event('worker.started')).toMatchObject({
      flowSlug: 'saysLittle',
      stepSlug: 'mine',
      queueName: 'sayslittle__mine',
    })
    expect(worker.events.length).toBeGreaterThan(1)
    expect(JSON.stringify(worker.events)).not.toMatch(/theirs/)
  })

  test('runs a plain flow of every step kind to its end', async () => {
    const worker = workerOn(everyKind('plainKinds'))
    expect(await worker.ask()).toMatchObject({ status: 'started' })
    const runIds = await core.startFlows('plainKinds', [
      { items: [1, 2], vip: true },
      { items: [], vip: false },
    ])
    await ended(runIds)
    expect(await statusesOf(runIds)).toEqual(['completed', 'completed'])
    expect(await outputOf(runIds[0]!)).toEqual({ ship: { sum: 30, gift: 'gift', vip: true } })
    expect(await outputOf(runIds[1]!)).toEqual({ ship: { sum: 0, gift: 'none', vip: false } })
  })

  test('of each step together runs a step-queued flow of every step kind to its end', async () => {
    const flow = withStepQueues(everyKind('stepKinds'))
    await Promise.all(workersOn(flow).map((worker) => worker.ask()))
    const runIds = await core.startFlows('stepKinds', [
      { items: [1, 2, 3], vip: false },
      { items: [4], vip: true },
    ])
    await ended(runIds)
    expect(await outputOf(runIds[0]!)).toEqual({ ship: { sum: 60, gift: 'none', vip: false } })
    expect(await outputOf(runIds[1]!)).toEqual({ ship: { sum: 40, gift: 'gift', vip: true } })
  })

  test('keeps falsy outputs what they are', async () => {
    const flow = new Flow({ slug: 'falsy' })
      .step({ slug: 'zero' }, () => 0)
      .step({ slug: 'no' }, () => false)
      .step({ slug: 'empty' }, () => '')
      .step({ slug: 'nothing' }, () => {})
    await workerOn(flow).ask()
    const [runId] = await core.startFlows('falsy', [{}])
    await ended([runId!])
    expect(await outputOf(runId!)).toEqual({ zero: 0, no: false, empty: '', nothing: null })
  })

  test('retries a failed attempt with its backoff until attempts are used up', async () => {
    const flow = new Flow({ slug: 'retries', maxAttempts: 2, baseDelay: 100 }).step({ slug: 'fail' }, () => {
      throw new Error('out of paper')
    })
    const worker = workerOn(flow)
    await worker.ask()
    const [runId] = await core.startFlows('retries', [{}])
    await until(async () => (await tasksOf(runId!))[0]?.error_message === 'out of paper')
    expect((await tasksOf(runId!))[0]).toMatchObject({ status: 'queued', attempts_count: 1 })
    const [message] = await sql<{ msg_id: string; delay: number }[]>`
      select msg_id, extract(epoch from vt - clock_timestamp())::float as delay from pgmq.q_retries`
    expect(message!.delay).toBeGreaterThan(195)
    expect(message!.delay).toBeLessThanOrEqual(200)
    await sql`select pgmq.set_vt('retries', ${message!.msg_id}::bigint, 0)`
    await ended([runId!])
    expect((await tasksOf(runId!))[0]).toMatchObject({ status: 'failed', attempts_count: 2 })
    expect(await statusesOf([runId!])).toEqual(['failed'])
  })

  test('retries when the handler says, not when the step does', async () => {
    const flow = new Flow({ slug: 'later', baseDelay: 1000 }).step({ slug: 'wait' }, (_input, ctx) => {
      if (ctx.stepTask.attempt === 1) throw new RetryLater({ delaySeconds: 0 })
      return ctx.stepTask.attempt
    })
    await workerOn(flow).ask()
    const [runId] = await core.startFlows('later', [{}])
    await ended([runId!])
    expect(await outputOf(runId!)).toEqual({ wait: 2 })
  })

  test('fails an attempt at its timeout, and its slot goes on', async () => {
    const flow = new Flow<{ hang: boolean }>({ slug: 'hangs', maxAttempts: 1, timeout: 1 }).step(
      { slug: 'work' },
      ({ hang }) => (hang ? new Promise<string>(() => {}) : 'done'),
    )
    await workerOn(flow, { maxConcurrent: 1 }).ask()
    const runIds = await core.startFlows('hangs', [{ hang: true }, { hang: false }])
    await ended(runIds)
    expect(await tasksOf(runIds[0]!)).toMatchObject([
      {
        status: 'failed',
        error_message: expect.stringContaining('Step "work" did not end within its timeout of 1 s. Hint: '),
      },
    ])
    expect(await outputOf(runIds[1]!)).toEqual({ work: 'done' })
  })
})

describe('two workers on one queue', () => {
  test('never run a task twice', async () => {
    const flow = withStepQueues(
      new Flow({ slug: 'shared' }).step({ slug: 'work' }, async (_input, ctx) => {
        const { run_id, step_slug, task_index, attempt } = ctx.stepTask
        await ctx.sql`insert into public.effects ${ctx.sql({ run_id, step_slug, task_index, attempt })}`
        return ctx.stepTask.msg_id
      }),
    )
    const workers = [1, 2].map(() => workerOn(flow, { stepSlug: 'work' }))
    await Promise.all(workers.map((worker) => worker.ask()))
    const runIds = await core.startFlows('shared', Array<Json>(300).fill({}))
    await ended(runIds)
    const [effects] = await sql<{ all: number; runs: number; workers: number }[]>`
      select count(*)::int as all, count(distinct e.run_id)::int as runs, count(distinct t.last_worker_id)::int as workers
      from public.effects e join pgflow.step_tasks t on t.run_id = e.run_id`
    expect(effects).toEqual({ all: 300, runs: 300, workers: 2 })
  })
})

describe('a slow step', () => {
  const slowAndFast = (slug: string) =>
    new Flow<{ step: string }>({ slug })
      .step(
        { slug: 'slow', if: { step: 'slow' } },
        () => new Promise<string>((resolve) => setTimeout(resolve, 250, '')),
      )
      .step({ slug: 'fast', if: { step: 'fast' } }, () => 'fast')

  /** Milliseconds from queued to completed of the slowest of some fast tasks, behind 12 slow ones. */
  async function fastStepTook(flowSlug: string): Promise<number> {
    const slow = await core.startFlows(flowSlug, Array<Json>(12).fill({ step: 'slow' }))
    const fast = await core.startFlows(flowSlug, Array<Json>(4).fill({ step: 'fast' }))
    await ended([...slow, ...fast])
    const [row] = await sql<{ ms: number }[]>`
      select extract(epoch from max(completed_at - queued_at)) * 1000 as ms from pgflow.step_tasks
      where flow_slug = ${flowSlug} and step_slug = 'fast'`
    return Number(row!.ms)
  }

  test('delays a fast one in flow mode, and not in step mode', async () => {
    // An idle worker's pause is no delay by a slow step.
    const settings = { maxConcurrent: 2, maxPollIntervalMs: 20 }
    await workerOn(slowAndFast('sharedSpeed'), settings).ask()
    const flow = withStepQueues(slowAndFast('splitSpeed'))
    await Promise.all(workersOn(flow, settings).map((worker) => worker.ask()))
    const [inFlowMode, inStepMode] = [await fastStepTook('sharedSpeed'), await fastStepTook('splitSpeed')]
    expect(inFlowMode / inStepMode).toBeGreaterThan(3)
  })

  test('of 5 000 elements keeps another step waiting in flow mode, and not beyond a poll in step mode', async () => {
    const ELEMENTS = 5000
    const busyAndUrgent = (slug: string) =>
      new Flow<{ load: number[]; urgent: boolean }>({ slug })
        .array({ slug: 'load', if: { urgent: false } }, ({ load }) => load)
        .map({ slug: 'busy', array: 'load' }, () => new Promise<string>((resolve) => setTimeout(resolve, 2000, '')))
        .step({ slug: 'urgent', if: { urgent: true } }, () => 'done')

    /** Seconds from queued to started of an urgent task behind the busy map; undefined when it has not started within 5 s. */
    async function urgentWaited(flowSlug: string, queue: string): Promise<number | undefined> {
      const load = Array.from({ length: ELEMENTS }, (_, n) => n)
      const [busy] = await core.startFlows(flowSlug, [{ load, urgent: false }])
      await until(
        async () =>
          (
            await sql`select from pgflow.step_tasks where run_id = ${busy!} and step_slug = 'busy' and status = 'started'`
          ).length > 0,
      )
      expect(
        (await sql`select queue_length::int as depth from pgmq.metrics(${queue})`)[0]!.depth,
      ).toBeGreaterThanOrEqual(ELEMENTS)
      const [urgent] = await core.startFlows(flowSlug, [{ load: [], urgent: true }])
      const waited = async () =>
        (
          await sql<{ seconds: number | null; asked: number }[]>`
        select extract(epoch from started_at - queued_at)::float8 as seconds, extract(epoch from clock_timestamp() - queued_at)::float8 as asked
        from pgflow.step_tasks where run_id = ${urgent!}`
        )[0]!
      let row = await waited()
      await until(async () => {
        row = await waited()
        return row.seconds !== null || row.asked > 5
      })
      await Promise.all([busy, urgent].map((runId) => sql`select pgflow.cancel_run(${runId!})`))
      return row.seconds ?? undefined
    }

    await workerOn(busyAndUrgent('sharedByMany')).ask()
    expect(await urgentWaited('sharedByMany', 'sharedbymany')).toBeUndefined()
    const split = withStepQueues(busyAndUrgent('splitByStep'))
    await Promise.all(workersOn(split).map((worker) => worker.ask()))
    // An idle worker asks once a second; the rest is what a busy computer needs.
    expect(await urgentWaited('splitByStep', 'splitbystep__busy')).toBeLessThan(2)
  })
})

describe('a worker that loses its task', () => {
  test('has its late report refused, and the other worker’s outcome stays', async () => {
    const ends: Record<string, (output: string) => void> = {}
    const flow = new Flow({ slug: 'fenced', timeout: 600 }).step(
      { slug: 'work' },
      (_input, ctx) => new Promise<string>((resolve) => (ends[`attempt ${ctx.stepTask.attempt}`] = resolve)),
    )
    const [stale, current] = [workerOn(flow), workerOn(flow)]
    await stale.ask()
    const [runId] = await core.startFlows('fenced', [{}])
    await until(async () => 'attempt 1' in ends)
    await ageTask(runId!, 'fenced')
    await current.ask()
    await until(async () => 'attempt 2' in ends)
    ends['attempt 1']!('stale')
    const refused = await Promise.race([stale.event('report.refused'), current.event('report.refused')])
    expect(refused).toMatchObject({ runId, stepSlug: 'work', repeated: false })
    expect((await tasksOf(runId!))[0]).toMatchObject({ status: 'started', attempts_count: 2 })
    ends['attempt 2']!('current')
    await ended([runId!])
    expect(await outputOf(runId!)).toEqual({ work: 'current' })
  })

  test('by kill -9 between claim and settle leaves it to another, which ends it', async () => {
    const listener = await new Promise<{ began: Promise<string>; unlisten: () => Promise<void> }>((resolve, reject) => {
      let tell: (runId: string) => void
      const began = new Promise<string>((settle) => {
        tell = settle
      })
      sql.listen('handler_began', (runId) => tell(runId)).then(({ unlisten }) => resolve({ began, unlisten }), reject)
    })
    const child = spawn(
      process.execPath,
      [...COMPILED, fileURLToPath(new URL('./support/worker-process.ts', import.meta.url)), url, 'killed'],
      { stdio: ['pipe', 'inherit', 'inherit'] },
    )
    const exited = new Promise<NodeJS.Signals | null>((resolve) => child.on('exit', (_code, signal) => resolve(signal)))
    try {
      await until(async () => (await sql`select from pgflow.workers where queue_name = 'killed'`).length > 0)
      const [runId] = await core.startFlows('killed', [{}])
      expect(await listener.began).toBe(runId)
      child.kill('SIGKILL')
      expect(await exited).toBe('SIGKILL')
      const flow = new Flow({ slug: 'killed', timeout: 5 }).step(
        { slug: 'work' },
        (_input, ctx) => ctx.stepTask.attempt,
      )
      await workerOn(flow).ask()
      await ageTask(runId!, 'killed')
      await ended([runId!])
      expect(await outputOf(runId!)).toEqual({ work: 2 })
    } finally {
      child.kill('SIGKILL')
      await listener.unlisten()
    }
  })
})

describe('a worker whose database fails', () => {
  test('keeps its reports and loses nothing', async () => {
    let end = () => {}
    const flow = new Flow<{ wait: boolean }>({ slug: 'outage' }).step({ slug: 'work' }, ({ wait }) =>
      wait ? new Promise<void>((resolve) => (end = resolve)) : undefined,
    )
    const worker = workerOn(flow, { functionName: 'outage_function' })
    await worker.ask()
    const [first] = await core.startFlows('outage', [{ wait: true }])
    await until(async () => (await tasksOf(first!))[0]?.status === 'started')
    const terminate = () =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'starflow outage_function'`
    await terminate()
    end()
    const [second] = await core.startFlows('outage', [{ wait: false }])
    await terminate()
    await ended([first!, second!])
    expect(await statusesOf([first!, second!])).toEqual(['completed', 'completed'])
    expect((await tasksOf(first!))[0]?.attempts_count).toBe(1)
  })
})

describe('a worker on its way out', () => {
  test('finishes what it has when the database deprecates it, claims nothing, and stops', async () => {
    let end = () => {}
    const flow = new Flow({ slug: 'leaves' }).step(
      { slug: 'work' },
      () => new Promise<string>((resolve) => (end = () => resolve('done'))),
    )
    const worker = workerOn(flow)
    const { workerId } = await worker.ask()
    const [first] = await core.startFlows('leaves', [{}])
    await until(async () => (await tasksOf(first!))[0]?.status === 'started')
    await core.deprecateWorker(workerId as string)
    const [second] = await core.startFlows('leaves', [{}])
    expect((await worker.event('worker.deprecated')).reason).toBe('deprecated')
    expect(await worker.ask()).toMatchObject({ http: 503, status: 'stopping' })
    end()
    await worker.settled()
    expect(await statusesOf([first!, second!])).toEqual(['completed', 'started'])
    expect((await tasksOf(second!))[0]).toMatchObject({ status: 'queued', attempts_count: 0 })
    const [row] =
      await sql`select stopped_at is not null as stopped from pgflow.workers where worker_id = ${workerId as string}`
    expect(row).toEqual({ stopped: true })
    expect(await worker.ask()).toMatchObject({ status: 'started' })
  })

  test('gives back at once what its shutdown signal ended, and the attempt counts', async () => {
    const flow = new Flow({ slug: 'givesBack' }).step({ slug: 'work' }, (_input, ctx) =>
      ctx.stepTask.attempt > 1
        ? 'second'
        : new Promise<string>((_resolve, reject) =>
            ctx.shutdownSignal.addEventListener('abort', () => reject(ctx.shutdownSignal.reason)),
          ),
    )
    const first = workerOn(flow)
    await first.ask()
    const [runId] = await core.startFlows('givesBack', [{}])
    await until(async () => (await tasksOf(runId!))[0]?.status === 'started')
    first.shutDown('wall_clock')
    await first.settled()
    expect((await tasksOf(runId!))[0]).toMatchObject({ status: 'queued', attempts_count: 1 })
    await workerOn(flow).ask()
    await ended([runId!])
    expect(await outputOf(runId!)).toEqual({ work: 'second' })
  })

  test('does not claim while its function is disabled', async () => {
    const functionName = `disabled_${randomUUID()}`
    await sql`insert into pgflow.worker_functions (function_name, enabled) values (${functionName}, false)`
    const worker = workerOn(
      new Flow({ slug: 'disabled' }).step({ slug: 'work' }, () => 1),
      { functionName },
    )
    expect(await worker.ask()).toMatchObject({ http: 200, status: 'fenced' })
    const [runId] = await core.startFlows('disabled', [{}])
    await sql`update pgflow.worker_functions set enabled = true where function_name = ${functionName}`
    expect((await tasksOf(runId!))[0]?.attempts_count).toBe(0)
    expect(await worker.ask()).toMatchObject({ status: 'started' })
    await ended([runId!])
  })
})

describe('the log of a start', () => {
  test('names the worker’s own flow, step and queue, and nothing of other steps', async () => {
    const flow = new Flow({ slug: 'ownStep' }).step({ slug: 'mine' }, () => 1).step({ slug: 'theirs' }, () => 2)
    const worker = workerOn(withStepQueues(flow), { stepSlug: 'mine' })
    await worker.ask()
    expect(await worker.event('worker.started')).toMatchObject({
      flowSlug: 'ownStep',
      stepSlug: 'mine',
      queueName: 'ownstep__mine',
    })
    expect(JSON.stringify(worker.events)).not.toContain('theirs')
  })
})

describe('a worker that may not start', () => {
  test('refuses another shape in production, and leaves no row of itself', async () => {
    await workerOn(new Flow({ slug: 'changed' }).step({ slug: 'work' }, () => 1)).ask()
    const functionName = 'changed_code'
    const changed = new Flow({ slug: 'changed' }).step({ slug: 'work' }, () => 1).step({ slug: 'more' }, () => 2)
    const worker = workerOn(changed, { functionName })
    expect(await worker.ask()).toMatchObject({ http: 500, code: 'SF108', hint: expect.stringContaining('changedV2') })
    expect(await sql`select from pgflow.workers where function_name = ${functionName}`).toHaveLength(0)
    expect(await sql`select from pgflow.worker_functions where function_name = ${functionName}`).toHaveLength(0)
  })

  test('refuses another queue mode in production', async () => {
    const flow = new Flow({ slug: 'remode' }).step({ slug: 'work' }, () => 1)
    await workerOn(flow).ask()
    expect(await workerOn(withStepQueues(flow), { stepSlug: 'work' }).ask()).toMatchObject({ http: 500, code: 'SF109' })
  })
})

test('a worker of a plain flow whose slug is too long for a queue is told so', async () => {
  const slug = `long${'g'.repeat(44)}`
  expect(await workerOn(new Flow({ slug }).step({ slug: 'work' }, () => 1)).ask()).toMatchObject({
    http: 500,
    code: 'SF101',
    detail: `Flow "${slug}" would have the queue "${slug}", of 48 characters.`,
    hint: 'Choose another concrete flow slug, of at most 47 characters.',
  })
})

test.each([
  ['no steps', new Flow({ slug: 'stepless' })],
  ['waits alone', new Flow({ slug: 'waiting' }).wait({ slug: 'approve' })],
])('a worker of a flow with %s is told that there is nothing to run', async (_what, flow) => {
  const worker = workerOn(flow)
  expect(await worker.ask()).toMatchObject({
    http: 500,
    code: 'SF001',
    message: `Flow "${flow.slug}" has no step that a worker could run.`,
    hint: expect.stringContaining('it is compiled now'),
  })
  expect(await sql`select from pgflow.flows where flow_slug = ${flow.slug}`).toHaveLength(1)
})

describe('a worker’s connections', () => {
  test('are maxPgConnections in all, its own among them, also while handlers hold the others', async () => {
    const flow = new Flow({ slug: 'connections' }).step({ slug: 'work' }, async (_input, ctx) => {
      await ctx.sql`select pg_sleep(0.02)`
      return 1
    })
    const worker = workerOn(flow, { maxPgConnections: 2, functionName: 'connection_function' })
    await worker.ask()
    const runIds = await core.startFlows('connections', Array<Json>(100).fill({}))
    let most = 0
    await until(async () => {
      const open = await sql`select from pg_stat_activity where application_name = 'starflow connection_function'`
      most = Math.max(most, open.length)
      return (await statusesOf(runIds)).every((status) => status === 'completed')
    })
    expect(most).toBe(2)
  })

  test('may be one, which is the worker’s: flows run to their end, and ctx.sql says what it lacks', async () => {
    const flow = new Flow<{ asks: boolean }>({ slug: 'oneConnection', maxAttempts: 1 })
      .step({ slug: 'work' }, async ({ asks }, ctx) => (asks ? await ctx.sql`select 1` : []))
      .step({ slug: 'after', dependsOn: ['work'] }, async (_deps, ctx) => (await ctx.flowInput).asks)
    const functionName = 'one_connection_function'
    await workerOn(flow, { maxPgConnections: 1, functionName }).ask()
    const [first, second] = await core.startFlows('oneConnection', [{ asks: false }, { asks: true }])
    await ended([first!, second!])
    expect(await statusesOf([first!, second!])).toEqual(['completed', 'failed'])
    expect((await tasksOf(second!))[0]?.error_message).toBe(
      'ctx.sql has no connection: maxPgConnections is 1, and the worker keeps one for itself. Hint: Set maxPgConnections to 2 or more.',
    )
    expect(await sql`select from pg_stat_activity where application_name = ${`starflow ${functionName}`}`).toHaveLength(
      1,
    )
  })

  test('keep a heartbeat going while a poll is slow', async () => {
    let end = () => {}
    const flow = new Flow({ slug: 'beats' }).step(
      { slug: 'work' },
      () => new Promise<void>((resolve) => (end = resolve)),
    )
    const worker = workerOn(flow)
    const { workerId } = await worker.ask()
    const heartbeat = async () =>
      (
        await sql<{ at: string }[]>`
        select last_heartbeat_at::text as at from pgflow.workers where worker_id = ${workerId as string}`
      )[0]!.at
    const [runId] = await core.startFlows('beats', [{}])
    await until(async () => (await tasksOf(runId!))[0]?.status === 'started')
    const before = await heartbeat()
    await sql.begin(async (transaction) => {
      // A run's lock, held by somebody else: the settle call waits for it.
      await transaction`select from pgflow.runs where run_id = ${runId!} for update`
      end()
      await until(async () => (await heartbeat()) !== before)
      expect(await statusesOf([runId!])).toEqual(['started'])
    })
    await ended([runId!])
  })
})

import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { StarflowSql } from '@starflow/core'
import { type AnyFlow, Flow, NonRetryableError } from '@starflow/dsl'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { flakyProxy } from '../../../tests/support/flaky-proxy.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { runInTransaction } from '../src/transactional-step.ts'
import { openConnections } from '../src/worker-connections.ts'
import { type RunningFunction, workerFunctionOn } from './support/running-function.ts'
import { transactionalFlow } from './support/transactional-flow.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
const proxy = await flakyProxy(url)
afterAll(() => proxy.close())
await sql`create table public.effects (run_id uuid, attempt integer)`

const running: RunningFunction[] = []
const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await Promise.all(running.splice(0).map((worker) => worker.stop()))
})

function workerOn(flow: AnyFlow, options: Parameters<typeof workerFunctionOn>[2] = {}, at = url): RunningFunction {
  const worker = workerFunctionOn(at, flow, options)
  running.push(worker)
  return worker
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}

const start = async (slug: string) => (await core.startFlows(slug, [{}]))[0]!
const taskOf = async (runId: string) =>
  (await sql`select status, attempts_count, error_message from pgflow.step_tasks where run_id = ${runId}`)[0]!
const completed = (runId: string) => until(async () => (await taskOf(runId)).status === 'completed')
const effectsOf = async (runId: string) =>
  (await sql<{ attempt: number }[]>`select attempt from public.effects where run_id = ${runId}`).map(
    ({ attempt }) => attempt,
  )

/** As if the recovery boundary of a started task had passed. */
async function ageTask(runId: string, queueName: string): Promise<void> {
  await sql`update pgflow.step_tasks set queued_at = queued_at - interval '2 hours', started_at = started_at - interval '1 hour'
    where run_id = ${runId} and status = 'started'`
  await sql`select pgmq.set_vt(${queueName}, q.msg_id, 0) from pgmq.${sql(`q_${queueName}`)} q`
}

/** Settles when no connection that came through the proxy is in a transaction any more. */
async function transactionsEnded(): Promise<void> {
  await until(
    async () =>
      (
        await sql`select from pg_stat_activity where datname = current_database() and application_name like 'starflow fn%'
          and (xact_start is not null)`
      ).length === 0,
  )
}

describe('a transactional step', () => {
  test('has its effects and its completion in one transaction', async () => {
    const flow = new Flow({ slug: 'oneTransaction' }).step(
      { slug: 'work', transactional: true },
      async (_input, ctx) => {
        const [row] = await ctx.tx<{ id: string }[]>`select pg_current_xact_id()::text as id`
        return row!.id
      },
    )
    await workerOn(flow).ask()
    const runId = await start('oneTransaction')
    await completed(runId)
    const [row] = await sql`
      select t.xmin::text = t.output #>> '{}' as same from pgflow.step_tasks t where run_id = ${runId}`
    expect(row).toEqual({ same: true })
  })

  test('lets the run go on, also to maps of transactional steps', async () => {
    const flow = new Flow<object>({ slug: 'transactionalMap' })
      .array({ slug: 'list', transactional: true }, async (_input, ctx) => {
        const rows = await ctx.tx<{ n: number }[]>`select generate_series(1, 20) as n`
        return rows.map(({ n }) => n)
      })
      .map({ slug: 'each', array: 'list', transactional: true }, async (n, ctx) => {
        await ctx.tx`insert into public.effects values (${ctx.stepTask.run_id}, ${n})`
        return n
      })
      .step({ slug: 'sum', dependsOn: ['each'] }, ({ each }) => each.reduce((total, n) => total + n, 0))
    await workerOn(flow).ask()
    const runId = await start('transactionalMap')
    await until(async () => {
      const [run] = await sql`select status from pgflow.runs where run_id = ${runId}`
      return run?.status === 'completed'
    })
    const [run] = await sql`select output from pgflow.runs where run_id = ${runId}`
    expect(run?.output).toEqual({ sum: 210 })
    expect((await effectsOf(runId)).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  })

  test('rolls back what a failing handler wrote, and retries', async () => {
    const flow = new Flow({ slug: 'rollsBack', baseDelay: 0 }).step(
      { slug: 'work', transactional: true },
      async (_input, ctx) => {
        const { run_id, attempt } = ctx.stepTask
        await ctx.tx`insert into public.effects values (${run_id}, ${attempt})`
        if (attempt === 1) throw new Error('not yet')
      },
    )
    await workerOn(flow).ask()
    const runId = await start('rollsBack')
    await completed(runId)
    expect(await effectsOf(runId)).toEqual([2])
  })

  test('rolls back when the handler swallowed an error of its transaction, or its output cannot be stored', async () => {
    const flow = new Flow<{ how: string }>({ slug: 'cannotCommit', maxAttempts: 1 }).step(
      { slug: 'work', transactional: true },
      async ({ how }, ctx) => {
        await ctx.tx`insert into public.effects values (${ctx.stepTask.run_id}, 1)`
        if (how === 'output') return '\0'
        await ctx.tx`select 1/0`.catch(() => {})
        return 'fine'
      },
    )
    await workerOn(flow).ask()
    for (const [how, message] of [
      ['swallowed', 'division by zero'],
      ['output', 'NUL'],
    ] as const) {
      const [runId] = await core.startFlows('cannotCommit', [{ how }])
      await until(async () => (await taskOf(runId!)).status === 'failed')
      expect((await taskOf(runId!)).error_message).toContain(message)
      expect(await effectsOf(runId!)).toEqual([])
    }
  })

  test('that took longer than its timeout has failed, and left no effect', async () => {
    const flow = new Flow({ slug: 'tooSlow', timeout: 1, maxAttempts: 1 }).step(
      { slug: 'work', transactional: true },
      async (_input, ctx) => {
        await ctx.tx`insert into public.effects values (${ctx.stepTask.run_id}, 1)`
        await new Promise((resolve) => setTimeout(resolve, 1300))
      },
    )
    await workerOn(flow).ask()
    const runId = await start('tooSlow')
    await until(async () => (await taskOf(runId)).status === 'failed')
    await transactionsEnded()
    expect(await effectsOf(runId)).toEqual([])
  })

  test('refuses ctx.sql', async () => {
    const flow = new Flow({ slug: 'wrongSql', maxAttempts: 1 }).step(
      { slug: 'work', transactional: true },
      async (_input, ctx) => await (ctx as unknown as { sql: typeof sql }).sql`select 1`,
    )
    await workerOn(flow).ask()
    const runId = await start('wrongSql')
    await until(async () => (await taskOf(runId)).status === 'failed')
    expect((await taskOf(runId)).error_message).toContain('ctx.sql is not there')
  })

  test('fails elements of a map that is too large for it, for good, and says at the start how large one may be', async () => {
    const flow = new Flow<object>({ slug: 'largeMap' })
      .array({ slug: 'list' }, () => Array.from({ length: 1001 }, (_, index) => index))
      .map({ slug: 'each', array: 'list', transactional: true }, (n) => n)
    const worker = workerOn(flow)
    // Before anything is asked of it: who starts it reads there what the step can do.
    expect(worker.events.filter(({ event }) => event === 'step.transactional')).toMatchObject([
      { transactionalStep: 'each', connections: 3, maxElements: 1000 },
    ])
    await worker.ask()
    const runId = await start('largeMap')
    await until(
      async () => (await sql`select from pgflow.runs where run_id = ${runId} and status = 'failed'`).length === 1,
    )
    const [task] = await sql`
      select error_message, attempts_count from pgflow.step_tasks where run_id = ${runId} and status = 'failed'`
    expect(task).toMatchObject({ attempts_count: 1, error_message: expect.stringContaining('SF415') })
  })

  test('is refused at the start without a connection for it', () => {
    expect(() => workerOn(transactionalFlow('noConnection'), { maxPgConnections: 1 })).toThrowError(
      expect.objectContaining({ code: 'SF414', hint: expect.stringContaining('maxPgConnections') }),
    )
  })
})

describe('a stale attempt of a transactional step', () => {
  test('is rolled back, and the other attempt’s effects stay', async () => {
    const ends: Record<number, () => void> = {}
    const flow = new Flow({ slug: 'stale', timeout: 600 }).step(
      { slug: 'work', transactional: true },
      async (_input, ctx) => {
        const { run_id, attempt } = ctx.stepTask
        await ctx.tx`insert into public.effects values (${run_id}, ${attempt})`
        await new Promise<void>((resolve) => {
          ends[attempt] = resolve
        })
        return attempt
      },
    )
    const [first, second] = [workerOn(flow, { maxConcurrent: 1 }), workerOn(flow, { maxConcurrent: 1 })]
    await first.ask()
    const runId = await start('stale')
    await until(async () => 1 in ends)
    await ageTask(runId, 'stale')
    await second.ask()
    await until(async () => 2 in ends)
    ends[1]!()
    expect(await first.event('report.refused')).toMatchObject({ runId, repeated: false })
    await transactionsOf(1)
    expect(await effectsOf(runId)).toEqual([])
    ends[2]!()
    await completed(runId)
    expect(await effectsOf(runId)).toEqual([2])
  })

  /** Settles when so many transactions are open. */
  async function transactionsOf(count: number): Promise<void> {
    await until(
      async () =>
        (
          await sql`select from pg_stat_activity where datname = current_database()
            and application_name like 'starflow fn%' and state = 'idle in transaction'`
        ).length === count,
    )
  }
})

/** Every moment between two messages of a transaction's end. */
const BOUNDARIES = [
  { name: 'before its report is sent', text: 'settle_tasks', when: 'before', commits: false },
  { name: 'after its report, before the answer', text: 'settle_tasks', when: 'after', commits: false },
  { name: 'before the commit is sent', text: 'commit', when: 'before', commits: false },
  { name: 'after the commit, before the answer', text: 'commit', when: 'after', commits: true },
] as const

test('a transactional step whose worker stops in the middle holds its locks no longer than its attempt', {
  timeout: 120_000,
}, async () => {
  await sql`create table public.once (name text primary key)`
  const connections = openConnections({ databaseUrl: url }, 2, 'transactional-step.test')
  const { signal } = new AbortController()
  const handlers = connections.handlers.lend(signal)
  let hasInserted = () => {}
  const inserted = new Promise<void>((resolve) => {
    hasInserted = resolve
  })
  let goOn = () => {}
  // For the database a stopped process is this: a transaction in which nothing more is said.
  const stopped = runInTransaction({
    sql: handlers.sql,
    signal,
    timeoutSeconds: 1,
    handler: async (tx) => {
      await tx`insert into public.once values ('key')`
      hasInserted()
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
    },
    settle: async (tx) => void (await tx`select 1`),
  }).catch((error: unknown) => error)
  await inserted
  // Waits for the end of the dead transaction, and then has the key.
  await sql`insert into public.once values ('key')`
  goOn()
  expect(await stopped).toBeInstanceOf(Error)
  handlers.giveBack()
  await connections.close(0)
})

describe.each(BOUNDARIES)('a transactional step whose worker is killed $name', ({ text, when, commits }) => {
  test(`leaves ${commits ? 'both effect and completion' : 'neither'}, and in the end there is one effect`, async () => {
    const slug = `killed${randomUUID().slice(0, 8)}`
    const program = fileURLToPath(new URL('./support/transaction-worker.ts', import.meta.url))
    const child = spawn(process.execPath, [...COMPILED, program, proxy.url, slug], {
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    children.push(child)
    const exited = new Promise((resolve) => child.on('exit', resolve))
    await until(async () => (await sql`select from pgflow.workers where queue_name = ${slug.toLowerCase()}`).length > 0)
    const stopped = proxy.stopAt(text, when)
    const runId = await start(slug)
    await stopped
    child.kill('SIGKILL')
    await exited
    await transactionsEnded()
    expect(await effectsOf(runId)).toEqual(commits ? [1] : [])
    expect((await taskOf(runId)).status).toBe(commits ? 'completed' : 'started')

    await ageTask(runId, slug.toLowerCase())
    await workerOn(transactionalFlow(slug)).ask()
    await completed(runId)
    expect(await effectsOf(runId)).toEqual(commits ? [1] : [2])
  })
})

describe.each(BOUNDARIES)('a transactional step whose connection is lost $name', ({ text, when, commits }) => {
  test('has one effect in the end, of the attempt that counts', async () => {
    const slug = `lost${randomUUID().slice(0, 8)}`
    const worker = workerOn(transactionalFlow(slug), { maxPgConnections: 2 }, proxy.url)
    await worker.ask()
    const stopped = proxy.stopAt(text, when)
    const runId = await start(slug)
    await stopped
    proxy.reset()
    await completed(runId)
    expect(await effectsOf(runId)).toEqual(commits ? [1] : [2])
    if (commits) {
      // The failure that the worker reports, not knowing better, is refused.
      expect(await worker.event('report.refused')).toMatchObject({ reason: expect.stringContaining('completed') })
    }
  })
})

test('a transactional step may end its task for good', async () => {
  const flow = new Flow({ slug: 'forGood' }).step({ slug: 'work', transactional: true }, async (_input, ctx) => {
    await ctx.tx`insert into public.effects values (${ctx.stepTask.run_id}, 1)`
    throw new NonRetryableError('no')
  })
  await workerOn(flow).ask()
  const runId = await start('forGood')
  await until(async () => (await taskOf(runId)).status === 'failed')
  expect(await effectsOf(runId)).toEqual([])
})

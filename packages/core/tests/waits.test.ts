import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow, completed } from './support/compiled-flow.ts'
import { recordEvents, sentEventNames } from './support/events.ts'
import { expectAllWell } from './support/oracle.ts'
import { refusal } from './support/refusal.ts'
import { type StepSketch, shape } from './support/shape.ts'
import { issueToken, resume, setWaitKey } from './support/wait-tokens.ts'

const database = await testDatabase()
const { sql } = database

let count = 0
const compile = (steps: Record<string, StepSketch>, mode: 'step' | 'flow' = 'step') =>
  CompiledFlow.compileShape(sql, `wait${++count}`, shape(steps, { baseDelay: 0 }), mode)

/** draft → approve (a wait) → publish */
const APPROVAL = {
  draft: {},
  approve: { wait: true, after: ['draft'] },
  publish: { after: ['approve'] },
} as const satisfies Record<string, StepSketch>

const approval = (approve: StepSketch = {}) =>
  compile({ ...APPROVAL, approve: { ...APPROVAL.approve, ...approve }, other: {} })

/** A run of it whose draft is done, so that its wait is open. */
async function openRun(flow: CompiledFlow): Promise<string> {
  const [runId] = await flow.start({})
  await draft(flow)
  return runId!
}

async function draft(flow: CompiledFlow): Promise<void> {
  const tasks = await flow.claim('draft')
  await flow.core.settleTasks(
    flow.workerId,
    tasks.map((task) => completed(task, 'text')),
  )
}

/** Moves the deadline of a run's waits into the past. */
async function makeDue(runId: string): Promise<void> {
  await sql`update pgflow.waits set due_at = clock_timestamp() - interval '1 second' where run_id = ${runId}`
}

const recover = () => sql`select pgflow.requeue_stalled_tasks()`
const waitsOf = (runId: string) => sql`select step_slug, payload from pgflow.waits where run_id = ${runId}`
const waitTask = async (runId: string, stepSlug = 'approve') => {
  const [task] = await sql`
    select status, message_id, attempts_count, output, error_message from pgflow.step_tasks
    where run_id = ${runId} and step_slug = ${stepSlug}`
  return task
}

beforeAll(async () => {
  await recordEvents(database)
  await setWaitKey(sql)
})
afterEach(() => expectAllWell(sql, { events: true }))

describe('an open wait', () => {
  test('is a task that waits, without message and attempt, and holds no worker', async () => {
    const flow = await approval()
    const runId = await openRun(flow)
    expect(await waitTask(runId)).toEqual({
      status: 'waiting',
      message_id: null,
      attempts_count: 0,
      output: null,
      error_message: null,
    })
    expect(await flow.steps(runId)).toMatchObject({ draft: 'completed', approve: 'started', publish: 'created' })
    expect(await flow.claim('publish')).toEqual([])
    expect(
      await sql`select flow_slug, run_id, step_slug, due_at from pgflow.open_waits where run_id = ${runId}`,
    ).toEqual([{ flow_slug: flow.slug, run_id: runId, step_slug: 'approve', due_at: null }])
  })

  test('is a next actor: neither audit nor repair nor recovery touches it', async () => {
    const runId = await openRun(await approval())
    expect(await sql`select * from pgflow.liveness_audit where run_id = ${runId}`).toEqual([])
    await sql`select pgflow.repair_liveness()`
    await recover()
    expect(await waitTask(runId)).toMatchObject({ status: 'waiting', message_id: null })
  })

  test('that is not among the open waits is found by the audit', async () => {
    const runId = await openRun(await approval())
    await sql`delete from pgflow.waits where run_id = ${runId}`
    expect(await sql`select kind, step_slug, reason from pgflow.liveness_audit where run_id = ${runId}`).toEqual([
      { kind: 'task', step_slug: 'approve', reason: 'waiting, but it is not among the open waits' },
    ])
    await sql`insert into pgflow.waits (run_id, step_slug, opened_at) values (${runId}, 'approve', now())`
  })

  test('takes no report of a worker', async () => {
    const flow = await approval()
    const runId = await openRun(flow)
    const report = { runId, stepSlug: 'approve', taskIndex: 0, attempt: 0 }
    expect(
      await flow.core.settleTasks(flow.workerId, [{ ...report, status: 'completed', output: 'true' }]),
    ).toMatchObject([{ accepted: false, reason: 'task is waiting' }])
    await sql`select pgflow.complete_task(${runId}, 'approve', 0, 'true')`
    await sql`select pgflow.fail_task(${runId}, 'approve', 0, 'no')`
    expect(await waitTask(runId)).toMatchObject({ status: 'waiting' })
  })

  test('opens in a plain flow too, among the tasks of its one queue', async () => {
    const flow = await compile({ ...APPROVAL, approve: { ...APPROVAL.approve, timeout: 86_400 } }, 'flow')
    const runId = await openRun(flow)
    // Its timeout is none of the queue's: all tasks are hidden for theirs.
    expect(await flow.claim('publish')).toEqual([])
    expect(await resume(sql, await issueToken(sql, runId, 'approve'), 'yes')).toBe('accepted')
    const [task] = await flow.claim('publish')
    expect(task).toMatchObject({ stepSlug: 'publish', input: { approve: 'yes' }, timeoutSeconds: 60 })
    expect(await flow.hidden('publish')).toEqual([62])
  })

  test('may be a root step, and then opens with the run', async () => {
    const flow = await compile({ approve: { wait: true }, publish: { after: ['approve'] } })
    const [runId] = await flow.start({})
    expect(await waitTask(runId!)).toMatchObject({ status: 'waiting' })
    expect(await sentEventNames(sql, runId!)).toEqual(['run:started', 'step:approve:started'])
  })

  test('is judged by its condition like any step', async () => {
    const flow = await compile({
      met: { wait: true, if: { kind: 'big' } },
      unmet: { wait: true, if: { kind: 'small' } },
      later: { wait: true, after: ['met'], if: { met: { ok: true } } },
      last: { after: ['met', 'unmet', 'later'] },
    })
    const [runId] = await flow.start({ kind: 'big' })
    expect(await flow.steps(runId!)).toMatchObject({ met: 'started', unmet: 'skipped: condition_unmet' })
    await resume(sql, await issueToken(sql, runId!, 'met'), { ok: true })
    expect(await waitTask(runId!, 'later')).toMatchObject({ status: 'waiting' })
    await resume(sql, await issueToken(sql, runId!, 'later'), 1)
    const [task] = await flow.claim('last')
    expect(task!.input).toEqual({ met: { ok: true }, later: 1 })
  })

  test('counts its timeout from the start that was asked for', async () => {
    const flow = await compile({ approve: { wait: true, timeout: 60 }, publish: { after: ['approve'] } })
    const [run] = await sql<[{ run_id: string }]>`
      select run_id from pgflow.start_flow(${flow.slug}, '{}', start_at => clock_timestamp() + interval '1 hour')`
    const [wait] = await sql<[{ seconds: number }]>`
      select round(extract(epoch from due_at - clock_timestamp()))::float8 as seconds from pgflow.waits where run_id = ${run.run_id}`
    expect(wait.seconds).toBeGreaterThan(3650)
  })
})

describe('a resume', () => {
  test('makes the payload the output of the wait, and the run goes on', async () => {
    const flow = await approval()
    const runId = await openRun(flow)
    const payload = { approved: true, note: '“fine”' }
    expect(await resume(sql, await issueToken(sql, runId, 'approve'), payload)).toBe('accepted')
    expect(await waitTask(runId)).toMatchObject({ status: 'completed', output: payload, attempts_count: 0 })
    const [task] = await flow.claim('publish')
    expect(task!.input).toEqual({ approve: payload })
    await flow.drain((each) => (each.stepSlug === 'publish' ? 'out' : null))
    await flow.core.settleTasks(flow.workerId, [completed(task!, 'out')])
    expect(await flow.run(runId)).toMatchObject({ status: 'completed', output: { publish: 'out' } })
    expect(await waitsOf(runId)).toEqual([])
    expect((await sentEventNames(sql, runId)).filter((name) => name.includes('approve'))).toEqual([
      'step:approve:started',
      'step:approve:completed',
    ])
  })

  test.each<[Json]>([[null], [0], [false], [''], [[]], [{ a: [1, { b: null }] }]])(
    'takes %j as it is',
    async (payload) => {
      const flow = await compile({ approve: { wait: true } }, 'flow')
      const [runId] = await flow.start({})
      expect(await resume(sql, await issueToken(sql, runId!, 'approve'), payload)).toBe('accepted')
      expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { approve: payload } })
    },
  )

  test('without a payload brings null', async () => {
    const flow = await compile({ approve: { wait: true } }, 'flow')
    const [runId] = await flow.start({})
    const token = await issueToken(sql, runId!, 'approve')
    expect(await sql`select * from pgflow.resume_wait(${token})`).toEqual([
      { run_id: runId, step_slug: 'approve', outcome: 'accepted' },
    ])
    expect(await flow.run(runId!)).toMatchObject({ output: { approve: null } })
  })

  test('that comes again is answered, and changes nothing', async () => {
    const flow = await approval()
    const runId = await openRun(flow)
    const token = await issueToken(sql, runId, 'approve')
    await resume(sql, token, 'first')
    expect(await resume(sql, token, 'second')).toBe('already_resumed')
    expect(await resume(sql, await issueToken(sql, runId, 'approve'), 'third')).toBe('already_resumed')
    expect(await waitTask(runId)).toMatchObject({ output: 'first' })
    await flow.drain(() => null)
    expect(await flow.run(runId)).toMatchObject({ status: 'completed' })
    expect(await resume(sql, token, 'fourth')).toBe('already_resumed')
  })

  test('that comes before its wait opens is kept, and taken when it does', async () => {
    const flow = await approval()
    const [runId] = await flow.start({})
    const token = await issueToken(sql, runId!, 'approve')
    expect(await resume(sql, token, 'early')).toBe('early')
    expect(await resume(sql, token, 'again')).toBe('already_resumed')
    expect(await flow.steps(runId!)).toMatchObject({ approve: 'created' })
    await draft(flow)
    expect(await flow.steps(runId!)).toMatchObject({ approve: 'completed', publish: 'started' })
    expect(await waitTask(runId!)).toMatchObject({ status: 'completed', output: 'early' })
    expect(await waitsOf(runId!)).toEqual([])
    expect((await sentEventNames(sql, runId!)).filter((name) => name.includes('approve'))).toEqual([
      'step:approve:started',
      'step:approve:completed',
    ])
    expect(await resume(sql, token, 'late')).toBe('already_resumed')
  })

  test('that came early for a chain of waits is taken by each as it opens, in one call', async () => {
    const flow = await compile({
      draft: {},
      one: { wait: true, after: ['draft'] },
      two: { wait: true, after: ['one'], if: { one: 1 } },
      end: { after: ['two'] },
    })
    const [runId] = await flow.start({})
    await resume(sql, await issueToken(sql, runId!, 'two'), 2)
    await resume(sql, await issueToken(sql, runId!, 'one'), 1)
    await draft(flow)
    expect(await flow.steps(runId!)).toEqual({ draft: 'completed', one: 'completed', two: 'completed', end: 'started' })
  })

  test('that came early for the last step completes the run with it', async () => {
    const flow = await compile({ draft: {}, approve: { wait: true, after: ['draft'] } })
    const [runId] = await flow.start({})
    await resume(sql, await issueToken(sql, runId!, 'approve'), 'ok')
    await draft(flow)
    expect(await flow.run(runId!)).toMatchObject({ status: 'completed', output: { approve: 'ok' } })
  })

  test('of a skipped wait is told so, and the payload that came early goes nowhere', async () => {
    const flow = await compile({
      draft: {},
      approve: { wait: true, after: ['draft'], if: { draft: 'other' } },
      end: { after: ['approve'] },
    })
    const [runId] = await flow.start({})
    const token = await issueToken(sql, runId!, 'approve')
    expect(await resume(sql, token, 'early')).toBe('early')
    await draft(flow)
    expect(await flow.steps(runId!)).toMatchObject({ approve: 'skipped: condition_unmet', end: 'started' })
    expect(await resume(sql, token, 'late')).toBe('skipped')
    const [task] = await flow.claim('end')
    expect(task!.input).toEqual({})
  })

  test('of a run that has ended otherwise is told so, and changes nothing', async () => {
    const flow = await approval()
    const runs = [await openRun(flow), await openRun(flow)] as const
    const tokens = await Promise.all(runs.map((runId) => issueToken(sql, runId, 'approve')))
    await sql`select pgflow.cancel_run(${runs[0]})`
    await flow.claim('other')
    await sql`select pgflow.fail_task(${runs[1]}, 'other', 0, 'boom', permanent => true)`
    expect(await flow.run(runs[1])).toMatchObject({ status: 'failed' })
    for (const [at, runId] of runs.entries()) {
      expect(await resume(sql, tokens[at]!, 'late')).toBe('run_ended')
      expect(await waitTask(runId)).toMatchObject({ status: 'cancelled', output: null })
      expect(await waitsOf(runId)).toEqual([])
    }
  })

  test('touches the wait of its own run only', async () => {
    const flow = await approval()
    const [one, two] = [await openRun(flow), await openRun(flow)]
    expect(await resume(sql, await issueToken(sql, one, 'approve'), 1)).toBe('accepted')
    expect(await waitTask(two)).toMatchObject({ status: 'waiting' })
  })

  test.each([
    ['\\u0000 in a text', String.raw`{"a": "\u0000"}`],
    ['a lone surrogate', String.raw`["\ud800"]`],
    ['a number without end', '1e400000'],
    ['no JSON at all', '{oops'],
  ])('with a payload that jsonb cannot hold is refused, and the wait stays open: %s', async (_, payload) => {
    const runId = await openRun(await approval())
    const token = await issueToken(sql, runId, 'approve')
    expect((await refusal(sql`select pgflow.resume_wait(${token}, ${payload}::text::jsonb)`)).code).toMatch(/^22/)
    expect(await waitTask(runId)).toMatchObject({ status: 'waiting' })
    expect(await resume(sql, token, 'now')).toBe('accepted')
  })

  test('that a map goes over must bring an array: else it is refused, and may come again', async () => {
    const flow = await compile({
      draft: {},
      pick: { wait: true, after: ['draft'] },
      each: { map: true, after: ['pick'] },
    })
    const [runId] = await flow.start({})
    const token = await issueToken(sql, runId!, 'pick')
    expect(await refusal(sql`select pgflow.resume_wait(${token}, '{}')`)).toMatchObject({
      code: 'SF203',
      message: 'The payload of wait "pick" must be an array.',
      detail: 'A map goes over it, and it is of type object.',
    })
    expect(await refusal(sql`select pgflow.resume_wait(${token})`)).toMatchObject({ code: 'SF203' })
    expect(await resume(sql, token, ['x', 'y'])).toBe('early')
    await draft(flow)
    expect((await flow.claim('each')).map((task) => task.input)).toEqual(['x', 'y'])
  })
})

describe('the timeout of a wait', () => {
  test('is a failed step when the recovery comes by: it fails the run', async () => {
    const flow = await approval({ timeout: 60 })
    const runId = await openRun(flow)
    await recover()
    expect(await waitTask(runId)).toMatchObject({ status: 'waiting' })
    await makeDue(runId)
    await recover()
    expect(await waitTask(runId)).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching(/^Timed out: nobody resumed this wait before .* UTC$/),
    })
    expect(await flow.run(runId)).toMatchObject({ status: 'failed' })
    expect(await flow.steps(runId)).toMatchObject({ approve: 'failed', publish: 'created' })
    expect(await waitsOf(runId)).toEqual([])
    expect(await sentEventNames(sql, runId)).toContain('step:approve:failed')
  })

  test('follows whenExhausted: skip lets what depends on it start without it', async () => {
    const flow = await approval({ timeout: 60, whenExhausted: 'skip' })
    const runId = await openRun(flow)
    await makeDue(runId)
    await recover()
    expect(await flow.steps(runId)).toMatchObject({ approve: 'skipped: handler_failed', publish: 'started' })
    const [task] = await flow.claim('publish')
    expect(task!.input).toEqual({})
  })

  test('follows whenExhausted: skip-cascade skips what depends on it', async () => {
    const flow = await approval({ timeout: 60, whenExhausted: 'skip-cascade' })
    const runId = await openRun(flow)
    await makeDue(runId)
    await recover()
    expect(await flow.steps(runId)).toMatchObject({
      approve: 'skipped: handler_failed',
      publish: 'skipped: dependency_skipped',
    })
    await flow.drain(() => null)
    expect(await flow.run(runId)).toMatchObject({ status: 'completed' })
  })

  test('counts on the clock of the database: a resume after it is too late, also before the recovery comes by', async () => {
    const flow = await approval({ timeout: 60, whenExhausted: 'skip' })
    const runId = await openRun(flow)
    const token = await issueToken(sql, runId, 'approve')
    await makeDue(runId)
    expect(await resume(sql, token, 'late')).toBe('timed_out')
    expect(await flow.steps(runId)).toMatchObject({ approve: 'skipped: handler_failed', publish: 'started' })
    expect(await resume(sql, token, 'later')).toBe('timed_out')
  })

  test('is the one that the code says when the wait opens, and a change of it is applied by any worker of the flow', async () => {
    const flow = await approval({ timeout: 60 })
    const changed = await flow.core.ensureFlowCompiled({
      flowSlug: flow.slug,
      shape: shape(
        { ...APPROVAL, approve: { ...APPROVAL.approve, timeout: 90 }, other: {} },
        { baseDelay: 0, timeout: 7 },
      ),
      queueMode: 'step',
      routeMap: null,
      stepSlug: 'publish',
    })
    expect(changed.options).toEqual([
      'step approve: timeout changed from 60 to 90',
      'step publish: timeout changed from unset to 7',
    ])
    const runId = await openRun(flow)
    const [wait] =
      await sql`select due_at - opened_at = interval '90 seconds' as is_so from pgflow.waits where run_id = ${runId}`
    expect(wait).toEqual({ is_so: true })
  })

  test('without one a wait stays open', async () => {
    const runId = await openRun(await approval())
    await sql`update pgflow.waits set opened_at = opened_at - interval '10 years' where run_id = ${runId}`
    await recover()
    expect(await waitTask(runId)).toMatchObject({ status: 'waiting' })
  })
})

describe('retry_run', () => {
  test('opens a wait that timed out or was cut off again, for its whole timeout, and tokens of before are good', async () => {
    const flow = await approval({ timeout: 60 })
    for (const end of ['time out', 'cancel'] as const) {
      const runId = await openRun(flow)
      const token = await issueToken(sql, runId, 'approve')
      if (end === 'cancel') await sql`select pgflow.cancel_run(${runId})`
      else await makeDue(runId)
      await recover()
      await sql`select pgflow.retry_run(${runId})`
      expect(await waitTask(runId)).toMatchObject({ status: 'waiting', message_id: null, error_message: null })
      const [wait] = await sql`select due_at > clock_timestamp() as is_open from pgflow.waits where run_id = ${runId}`
      expect(wait).toEqual({ is_open: true })
      expect(await resume(sql, token, end)).toBe('accepted')
      await flow.drain(() => null)
      expect(await flow.run(runId)).toMatchObject({ status: 'completed' })
    }
  })

  test('keeps a payload that came early', async () => {
    const flow = await approval()
    const [runId] = await flow.start({})
    const token = await issueToken(sql, runId!, 'approve')
    await resume(sql, token, 'early')
    await sql`select pgflow.cancel_run(${runId!})`
    expect(await resume(sql, token, 'late')).toBe('run_ended')
    await sql`select pgflow.retry_run(${runId!})`
    await draft(flow)
    expect(await waitTask(runId!)).toMatchObject({ status: 'completed', output: 'early' })
  })

  test('judges a wait again whose condition failed the run', async () => {
    const flow = await compile({ approve: { wait: true, if: { ok: true }, whenUnmet: 'fail' } }, 'flow')
    const [runId] = await flow.start({ ok: false })
    expect(await flow.run(runId!)).toMatchObject({ status: 'failed' })
    expect(await resume(sql, await issueToken(sql, runId!, 'approve'), 1)).toBe('run_ended')
    await sql`update pgflow.runs set input = '{"ok": true}' where run_id = ${runId!}`
    await sql`select pgflow.retry_run(${runId!})`
    expect(await waitTask(runId!)).toMatchObject({ status: 'waiting' })
  })
})

describe('a wait in the definition', () => {
  test('has no route and no queue, keeps its index, and no worker can claim it', async () => {
    const flow = await approval()
    expect(
      await sql`select step_slug, step_type, step_index, queue_name from pgflow.steps where flow_slug = ${flow.slug} order by step_index`,
    ).toMatchObject([
      { step_slug: 'draft', step_index: 0 },
      { step_slug: 'approve', step_type: 'wait', step_index: 1, queue_name: flow.slug },
      { step_slug: 'publish', step_index: 2 },
      { step_slug: 'other', step_index: 3 },
    ])
    expect(() => flow.queue('approve')).toThrow()
    expect(await sql`select queue_name from pgmq.list_queues() where queue_name = ${flow.slug}`).toEqual([])
    const claim = sql`select * from pgflow.claim_tasks(${`${flow.slug}__draft`}, ${flow.slug}, ${flow.workerId}, 1, 'approve')`
    expect(await refusal(claim)).toMatchObject({
      code: 'SF302',
      detail: `Routes: draft → ${flow.slug}__draft, publish → ${flow.slug}__publish, other → ${flow.slug}__other.`,
    })
  })

  test('is verified, told from another type, and refused as the step of a worker', async () => {
    const flow = await approval()
    const compileAgain = (approve: StepSketch, stepSlug: string | null = null) =>
      flow.core.ensureFlowCompiled({
        flowSlug: flow.slug,
        shape: shape({ ...APPROVAL, approve, other: {} }, { baseDelay: 0 }),
        queueMode: 'step',
        routeMap: null,
        stepSlug,
      })
    expect(await compileAgain(APPROVAL.approve)).toMatchObject({ status: 'verified', options: [] })
    expect(await compileAgain({ after: ['draft'] })).toMatchObject({
      status: 'mismatch',
      mismatchKind: 'shape',
      differences: ['Step "approve": type wait in the database, single in the code.'],
    })
    expect(await refusal(compileAgain(APPROVAL.approve, 'approve'))).toMatchObject({
      code: 'SF119',
      hint: 'Steps that workers run: draft, publish, other.',
    })
  })

  test('can be added to a plain flow, without retries', async () => {
    await sql`select pgflow.create_flow('byhand')`
    await sql`select pgflow.add_step('byhand', 'approve', step_type => 'wait', timeout => 60)`
    const [run] = await sql<[{ run_id: string }]>`select run_id from pgflow.start_flow('byhand', '{}')`
    expect(await resume(sql, await issueToken(sql, run.run_id, 'approve'), 1)).toBe('accepted')
    const add = sql`select pgflow.add_step('byhand', 'other', step_type => 'wait', max_attempts => 3)`
    expect((await refusal(add)).message).toContain('wait_runs_nothing')
  })

  test('alone makes no step-queued flow: nobody would work it', async () => {
    const only = CompiledFlow.compileShape(sql, 'onlywaits', shape({ approve: { wait: true } }))
    expect(await refusal(only)).toMatchObject({
      code: 'SF103',
      message: 'Flow "onlywaits" has no steps but waits, so it cannot use per-step queues.',
    })
  })

  test('may have a name that no queue could have', async () => {
    const slug = `long${'g'.repeat(39)}`
    const steps = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`w${at}`, { wait: true }]))
    const flow = await CompiledFlow.compileShape(
      sql,
      slug,
      shape({ a: {}, ...steps, [`w${'x'.repeat(100)}`]: { wait: true } }),
    )
    expect(flow.queue('a')).toBe(`${slug}__a`)
  })

  test('is counted by the drain of a version, and stands in no coverage', async () => {
    const flow = await approval()
    await openRun(flow)
    await openRun(flow)
    expect(await sql`select open_runs, open_waits from pgflow.version_drain where flow_slug = ${flow.slug}`).toEqual([
      { open_runs: '2', open_waits: '2' },
    ])
    const covered =
      await sql`select step_slug from pgflow.queue_coverage where flow_slug = ${flow.slug} order by step_index`
    expect(covered.map((row) => row.step_slug)).toEqual(['draft', 'publish', 'other'])
  })

  test('goes with its flow, open waits and early payloads too', async () => {
    const flow = await approval()
    await openRun(flow)
    const [early] = await flow.start({})
    await resume(sql, await issueToken(sql, early!, 'approve'), 1)
    const token = await issueToken(sql, early!, 'approve')
    await sql`select pgflow.delete_flow_and_data(${flow.slug})`
    expect(await waitsOf(early!)).toEqual([])
    expect(await refusal(sql`select pgflow.resume_wait(${token})`)).toMatchObject({
      code: 'SF209',
      message: `There is no wait "approve" in run ${early}.`,
    })
  })

  test('many runs open and end their waits in one call', async () => {
    const flow = await approval({ timeout: 60, whenExhausted: 'skip' })
    const runIds = await flow.start(...Array.from({ length: 50 }, (_, at) => at))
    for (const runId of runIds.slice(0, 10)) await resume(sql, await issueToken(sql, runId, 'approve'), 1)
    await draft(flow)
    const [opened] = await sql`select count(*)::integer as count from pgflow.open_waits where flow_slug = ${flow.slug}`
    expect(opened).toEqual({ count: 40 })
    await sql`update pgflow.waits set due_at = clock_timestamp() where run_id = any (${runIds})`
    await recover()
    await flow.drain(() => null)
    const ended =
      await sql`select status, count(*)::integer as count from pgflow.runs where run_id = any (${runIds}) group by status`
    expect(ended).toEqual([{ status: 'completed', count: 50 }])
  })
})

describe('issue_wait_token', () => {
  test('names the waits there are, and refuses what is none', async () => {
    const flow = await approval()
    const [runId] = await flow.start({})
    expect(await refusal(issueToken(sql, runId!, 'publish'))).toMatchObject({
      code: 'SF209',
      message: `There is no wait "publish" in run ${runId}.`,
      hint: 'Its waits: approve.',
    })
    expect(await refusal(issueToken(sql, randomUUID(), 'approve'))).toMatchObject({
      code: 'SF209',
      detail: 'There is no such run.',
    })
  })

  test('refuses a life that is over', async () => {
    const [runId] = await (await approval()).start({})
    expect(await refusal(issueToken(sql, runId!, 'approve', '-1 second'))).toMatchObject({ code: 'SF001' })
  })

  test('gives a week, and the timeout of the wait', async () => {
    const lifeOf = async (approve: StepSketch, expiresIn: string | null = null) => {
      const [runId] = await (await approval(approve)).start({})
      const body = (await issueToken(sql, runId!, 'approve', expiresIn)).split('.')[2]!
      const { exp } = JSON.parse(Buffer.from(body, 'base64url').toString()) as { exp: number }
      return Math.round((exp - Date.now() / 1000) / 60)
    }
    expect(await lifeOf({})).toBe(7 * 24 * 60)
    expect(await lifeOf({ timeout: 86_400 })).toBe(8 * 24 * 60)
    expect(await lifeOf({ timeout: 86_400 }, '1 hour')).toBe(60)
  })
})

describe('without a secret to sign tokens', () => {
  test.each([
    ['missing', null],
    ['shorter than 32 characters', 'short'],
    ['missing', '   '],
  ])('a flow with a wait is refused at its start, and nothing is made: it is %s', async (reason, secret) => {
    const flow = await approval()
    const plain = await compile({ a: {} })
    await setWaitKey(sql, secret)
    try {
      expect(await refusal(sql`select pgflow.start_flow(${flow.slug}, '{}')`)).toEqual({
        code: 'SF206',
        message: `Flow "${flow.slug}" has a wait, and there is no secret to sign its tokens.`,
        detail: `The Vault secret "starflow_wait_token_secret" is ${reason}.`,
        hint: "select vault.create_secret(encode(extensions.gen_random_bytes(32), 'hex'), 'starflow_wait_token_secret')",
      })
      expect(await refusal(flow.start({}, {}))).toMatchObject({ code: 'SF206' })
      expect(await sql`select from pgflow.runs where flow_slug = ${flow.slug}`).toHaveLength(0)
      expect(await plain.start({})).toHaveLength(1)
    } finally {
      await setWaitKey(sql)
    }
  })

  test('a flow with a wait is refused in the same way where the Vault cannot decrypt it', async () => {
    const flow = await approval()
    const admin = database.as('supabase_admin', { connections: 1 })
    await admin`update vault.secrets set secret = 'bm8gY2lwaGVydGV4dA==' where name = 'starflow_wait_token_secret'`
    expect(await refusal(sql`select pgflow.start_flow(${flow.slug}, '{}')`)).toMatchObject({
      code: 'SF206',
      detail: 'The Vault secret "starflow_wait_token_secret" cannot be decrypted.',
      hint: "select vault.update_secret((select id from vault.secrets where name = 'starflow_wait_token_secret'), '<its value>')",
    })
    await setWaitKey(sql)
  })

  test('the hint makes one that serves', async () => {
    const flow = await approval()
    await setWaitKey(sql, null)
    const { hint } = await refusal(flow.start({}))
    await sql.unsafe(hint!)
    expect(await flow.start({})).toHaveLength(1)
    await setWaitKey(sql)
  })
})

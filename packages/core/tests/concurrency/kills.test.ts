import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import type { Sql } from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { randomFrom } from '../../../../tests/support/random.ts'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { type ClaimedTask, StarflowSql, type TaskReport } from '../../src/index.ts'
import { CompiledFlow, completed, failed } from '../support/compiled-flow.ts'
import { isLockTimeout, isLostConnection, KillableClient } from '../support/killable-client.ts'
import { expectAllWell } from '../support/oracle.ts'
import { serverLog } from '../support/server-log.ts'
import { shape } from '../support/shape.ts'

const database = await testDatabase()
const { sql } = database

const WORKERS = 16
const RUNS_AT_LEAST = 300
const KILLS_AT_LEAST = 60
const RUNS_A_WAVE = 60
/** It is over in some 10 s where nothing else runs; this only ends what hangs. */
const TIME_LIMIT_MS = 150_000
/** `SEED=3` for other decisions. */
const SEED = Number(process.env.SEED ?? 1)

/** A diamond with a map, a condition, a step that is skipped when it fails, and one that takes what follows with it. */
const STEPS = {
  split: {},
  left: { after: ['split'] },
  asked: { after: ['left'], if: { left: { go: true } } },
  each: { map: true, after: ['split'] },
  again: { map: true, after: ['each'] },
  fragile: { after: ['split'], whenExhausted: 'skip' },
  doomed: { after: ['left'], whenExhausted: 'skip-cascade' },
  below: { after: ['doomed'] },
  join: { after: ['asked', 'again', 'fragile'] },
} as const
type StepSlug = keyof typeof STEPS

interface Input {
  readonly elements: number
  readonly go: boolean
  readonly breaks: boolean
  readonly ends: boolean
  [key: string]: Json
}
const inputOf = (n: number): Input => ({ elements: n % 5, go: n % 2 === 0, breaks: n % 3 === 0, ends: n % 20 === 7 })

/** What the tasks of a run are to come to, whatever happens on the way. */
function reportOf(task: ClaimedTask, workerId: string, input: Input): TaskReport {
  // An output names the claim it came from, so that the database can be asked which claim was accepted.
  const by = `${workerId}/${task.attempt}`
  switch (task.stepSlug as StepSlug) {
    case 'split':
      return completed(
        task,
        Array.from({ length: input.elements }, () => by),
      )
    case 'left':
      return completed(task, { by, go: input.go })
    case 'fragile':
    case 'doomed':
      return input.breaks ? failed(task, { permanent: true }) : completed(task, { by })
    case 'join':
      return input.ends ? failed(task, { permanent: true }) : completed(task, { by })
    default:
      return completed(task, { by })
  }
}

/** The connection of an open transaction was cut. */
class Cut extends Error {}

interface Mine {
  readonly workerId: string
  readonly reports: readonly TaskReport[]
}

test('16 workers that are cut off between any two statements, die and come back as zombies change no outcome', async () => {
  const flow = await CompiledFlow.compileShape(
    sql,
    'kills',
    shape(STEPS, { maxAttempts: 60, baseDelay: 0, timeout: 1 }),
  )
  await flow.core.setSetting('max_requeues', '1000')
  const queues = Object.keys(STEPS) as StepSlug[]
  const inputs = new Map<string, Input>()
  const counts = { between: 0, within: 0, lost: 0, failed: 0 }
  const handlerStarts = new Map<string, number>()
  const completions: string[] = []
  const problems: unknown[] = []
  const zombies: Mine[] = []
  let isOver = false

  const nameOf = ({ runId, stepSlug, taskIndex }: Pick<ClaimedTask, 'runId' | 'stepSlug' | 'taskIndex'>) =>
    `${runId}/${stepSlug}/${taskIndex}`
  /** A report that is refused because it was accepted before, its answer lost, has been accepted too: that once. */
  const note = ({ reports }: Mine, results: readonly { accepted: boolean; reason: string | null }[]) => {
    for (const [position, { accepted, reason }] of results.entries()) {
      const report = reports[position]!
      if (report.status === 'completed' && (accepted || reason === 'already settled: task is completed')) {
        completions.push(nameOf(report))
      }
    }
  }

  const work = async (index: number) => {
    const random = randomFrom(SEED * 1000 + index)
    const client = new KillableClient(database, `kills ${index}`)
    let workerId = await flow.register(randomUUID())
    /** Between two statements: now and then the connection is gone. */
    const gap = async () => {
      if (random() > 0.02) return false
      await client.kill(sql)
      counts.between += 1
      return true
    }
    const claim = (on: Sql, reports: readonly TaskReport[] = []) => {
      const stepSlug = queues[Math.floor(random() * queues.length)]!
      return new StarflowSql(on).settleAndClaim({
        workerId,
        reports,
        queueName: flow.queue(stepSlug),
        flowSlug: flow.slug,
        stepSlug,
        qty: 1 + Math.floor(random() * 12),
        onUnsupported: 'skip',
      })
    }

    while (!isOver) {
      let mine: Mine | undefined
      try {
        let { claimed } = await claim(client.sql)
        while (claimed.length > 0 && !isOver) {
          const reports = claimed.map((task) => {
            handlerStarts.set(nameOf(task), (handlerStarts.get(nameOf(task)) ?? 0) + 1)
            return random() < 0.05 ? failed(task) : reportOf(task, workerId, inputs.get(task.runId)!)
          })
          mine = { workerId, reports }
          if (random() < 0.06) {
            // The worker dies with its tasks; what it had done is reported when another one may hold them.
            counts.lost += claimed.length
            zombies.push(mine)
            mine = undefined
            workerId = await flow.register(randomUUID())
            break
          }
          await gap()
          const way = random()
          if (way < 0.4) {
            note(mine, await new StarflowSql(client.sql).settleTasks(workerId, reports))
            claimed = []
          } else if (way < 0.7) {
            const next = await claim(client.sql, reports)
            note(mine, acceptedOf(reports, next.refused))
            claimed = next.claimed
          } else {
            // As statements of one transaction: what is cut off before the commit has never been.
            // Whether it was cut off in between must be told here: its client goes on with a new connection.
            await client.sql`begin`
            if (await gap()) throw new Cut()
            const results = await new StarflowSql(client.sql).settleTasks(workerId, reports)
            if (await gap()) throw new Cut()
            const next = await claim(client.sql)
            if (await gap()) throw new Cut()
            await client.sql`commit`
            note(mine, results)
            claimed = next.claimed
          }
          mine = undefined
          counts.failed += reports.filter((report) => report.status === 'failed').length
          await gap()
        }
      } catch (error) {
        if (!(error instanceof Cut) && !isLostConnection(error) && !isLockTimeout(error)) problems.push(error)
        // Whether the settlement was committed is not known: exactly the case that a repeated report must be safe for.
        if (mine !== undefined) zombies.push(mine)
        await client.renew()
      }
    }
    await client.end()
  }

  const working = Array.from({ length: WORKERS }, (_, index) => work(index))
  const random = randomFrom(SEED)
  const deadline = Date.now() + TIME_LIMIT_MS
  let open = 0
  try {
    while (Date.now() < deadline) {
      const hasWithstoodEnough = inputs.size >= RUNS_AT_LEAST && counts.between + counts.within >= KILLS_AT_LEAST
      if (!hasWithstoodEnough && open < RUNS_A_WAVE) {
        const wave = Array.from({ length: RUNS_A_WAVE }, (_, n) => inputOf(inputs.size + n))
        const ids = wave.map(() => randomUUID())
        for (const [position, id] of ids.entries()) inputs.set(id, wave[position]!)
        await flow.core.startFlows(flow.slug, wave, ids)
      }
      if (random() < 0.5) counts.within += await killActive(Math.floor(random() * 3))
      await ageLostTasks(flow.slug)
      await flow.core.requeueStalledTasks()
      for (const mine of zombies.splice(0, 3)) note(mine, await flow.core.settleTasks(mine.workerId, mine.reports))
      const [row] = await sql<[{ open: number }]>`
        select count(*)::integer as open from pgflow.runs where flow_slug = ${flow.slug} and status = 'started'`
      open = row.open
      if (open === 0 && hasWithstoodEnough) break
    }
  } finally {
    isOver = true
    await Promise.all(working)
  }
  expect(open, `runs that are open after ${TIME_LIMIT_MS / 1000} s`).toBe(0)
  for (const mine of zombies) {
    const results = await flow.core.settleTasks(mine.workerId, mine.reports)
    expect(results.filter((result) => result.accepted)).toEqual([])
    note(mine, results)
  }

  expect(problems).toEqual([])
  await expectAllWell(sql, { accepted: completions, handlerStarts })
  await expectOutcomes(inputs)
  // It must have had something to withstand.
  expect(counts.between).toBeGreaterThanOrEqual(20)
  expect(counts.within).toBeGreaterThanOrEqual(5)
  expect(counts.lost).toBeGreaterThan(20)
  if (process.env.SEED !== undefined) console.info(inputs.size, 'runs', counts)
}, 200_000)

afterAll(() => {
  expect(serverLog(database, 'deadlock detected')).toEqual([])
})

function acceptedOf(
  reports: readonly TaskReport[],
  refused: readonly { runId: string; stepSlug: string; taskIndex: number; reason: string }[],
) {
  return reports.map((report) => {
    const refusal = refused.find(
      (each) => each.runId === report.runId && each.stepSlug === report.stepSlug && each.taskIndex === report.taskIndex,
    )
    return { accepted: refusal === undefined, reason: refusal?.reason ?? null }
  })
}

async function killActive(offset: number): Promise<number> {
  const killed = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'kills %' and state = 'active' and query like '%pgflow.%'
    order by application_name offset ${offset} limit 1`
  return killed.length
}

/** A lost task is past its recovery boundary at once: nobody waits for the clock here. Only what no worker works on. */
async function ageLostTasks(flowSlug: string): Promise<void> {
  await sql`
    update pgflow.step_tasks t set
      started_at = t.started_at - interval '60 s', queued_at = t.queued_at - interval '60 s'
    from (
      select e.run_id, e.step_slug, e.task_index from pgflow.runs r join pgflow.step_tasks e on e.run_id = r.run_id
      where r.flow_slug = ${flowSlug} and r.status = 'started' and e.status = 'started'
        and e.started_at < clock_timestamp() - interval '400 milliseconds' and e.started_at > clock_timestamp() - interval '10 s'
      for update of e skip locked
    ) old
    where t.run_id = old.run_id and t.step_slug = old.step_slug and t.task_index = old.task_index and t.status = 'started'`
}

async function expectOutcomes(inputs: ReadonlyMap<string, Input>): Promise<void> {
  const rows = await sql<{ run_id: string; status: string; steps: Record<string, string>; elements: number | null }[]>`
    select r.run_id, r.status,
           (select jsonb_object_agg(s.step_slug, coalesce(s.skip_reason, s.status)) from pgflow.step_states s where s.run_id = r.run_id) as steps,
           (select jsonb_array_length(s.output) from pgflow.step_states s where s.run_id = r.run_id and s.step_slug = 'again') as elements
    from pgflow.runs r`
  expect(rows).toHaveLength(inputs.size)
  const wrong = rows.filter((row) => {
    const input = inputs.get(row.run_id)!
    const expected = {
      split: 'completed',
      left: 'completed',
      asked: input.go ? 'completed' : 'condition_unmet',
      each: 'completed',
      again: 'completed',
      fragile: input.breaks ? 'handler_failed' : 'completed',
      doomed: input.breaks ? 'handler_failed' : 'completed',
      below: input.breaks ? 'dependency_skipped' : 'completed',
      join: input.ends ? 'failed' : 'completed',
    }
    // A run that fails leaves what had not ended by then as it was.
    const steps = Object.entries(expected).every(
      ([slug, status]) =>
        row.steps[slug] === status || (input.ends && ['created', 'started'].includes(row.steps[slug]!)),
    )
    return row.status !== (input.ends ? 'failed' : 'completed') || !steps || row.elements !== input.elements
  })
  expect(wrong, 'every run and step ended as its input says').toEqual([])
  expect(
    await sql`
      select run_id, step_slug, task_index from pgflow.step_tasks
      where status = 'completed' and coalesce(output ->> 'by', output ->> 0) <> last_worker_id || '/' || attempts_count`,
    'every output is that of the claim that the task records',
  ).toEqual([])
}

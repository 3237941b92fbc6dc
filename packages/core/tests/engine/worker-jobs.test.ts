import { describe, expect, test } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { EngineActor } from '../support/engine-actor.ts'
import { EngineCalls } from '../support/engine-calls.ts'
import { refusal } from '../support/refusal.ts'

const database = await testDatabase()
const engine = new EngineCalls(database.sql)
const first = new EngineActor(database)
const second = new EngineActor(database)

interface Job {
  readonly job_id: string
  readonly attempt: number
}

let kinds = 0

/** A job of a kind of its own that `w1` has taken, and whose lease may be over. */
async function takenJob(options: { readonly isOverdue: boolean }): Promise<Job & { readonly kind: string }> {
  const held = await engine.leased('r1')
  const kind = `kind-${kinds++}`
  await engine.call('enqueue_worker_job', { ...held, node_id: 'a', kind, payload: 1, idempotency_key: 'a' })
  const job = (await claim(engine, 'w1', kind))!
  if (options.isOverdue) {
    await database.sql`update starflow.worker_jobs set lease_until = now() - interval '1 second' where id = ${job.job_id}`
  }
  return { ...job, kind }
}

async function claim(calls: EngineCalls, worker_id: string, kind: string): Promise<Job | undefined> {
  const [job] = await calls.call<Job>('claim_worker_job', { worker_id, kinds: [kind], lease_ms: 30_000 })
  return job
}

const complete = (calls: EngineCalls, { job_id, attempt }: Job, worker_id: string, result: string) =>
  calls.call('complete_worker_job', { job_id, worker_id, attempt, result })
const beat = (calls: EngineCalls, { job_id, attempt }: Job, worker_id: string) =>
  calls.call('heartbeat_worker_job', { job_id, worker_id, attempt, lease_ms: 30_000 })
const kept = async ({ job_id }: Job) =>
  (await database.sql`select status, result, leased_by, attempt from starflow.worker_jobs where id = ${job_id}`)[0]

test('of 60 jobs each is claimed by exactly one of 8 workers that race for them', async () => {
  const held = await engine.leased('r1')
  for (let job = 0; job < 60; job++) {
    await engine.call('enqueue_worker_job', {
      ...held,
      node_id: 'a',
      kind: 'raced',
      payload: 1,
      idempotency_key: `${job}`,
    })
  }
  const taken = await Promise.all(
    Array.from({ length: 8 }, async (_, worker) => {
      const calls = new EngineCalls(database.connect())
      const jobs: string[] = []
      for (;;) {
        const job = await claim(calls, `worker-${worker}`, 'raced')
        if (job === undefined) return jobs
        jobs.push(job.job_id)
      }
    }),
  )
  expect(taken.flat()).toHaveLength(60)
  expect(new Set(taken.flat()).size).toBe(60)
})

describe('a worker whose lease is over', () => {
  test('and whose result waits for the claim that takes its job away is refused', async () => {
    const job = await takenJob({ isOverdue: true })
    const taking = await first.hold((calls) => claim(calls, 'w2', job.kind))
    const late = await second.waits((calls) => complete(calls, job, 'w1', 'late'))
    await taking.commit()
    expect(await refusal(late.end)).toMatchObject({ code: 'SF943' })
    expect(await kept(job)).toMatchObject({ status: 'leased', leased_by: 'w2', attempt: 2, result: null })
    await complete(engine, taking.result!, 'w2', 'in time')
    expect(await kept(job)).toMatchObject({ status: 'completed', result: 'in time' })
  })

  test('and whose result is being written keeps its job: a claim passes over it', async () => {
    const job = await takenJob({ isOverdue: true })
    const writing = await first.hold((calls) => complete(calls, job, 'w1', 'just in time'))
    expect(await claim(engine, 'w2', job.kind)).toBeUndefined()
    await writing.commit()
    expect(await kept(job)).toMatchObject({ status: 'completed', result: 'just in time', attempt: 1 })
    expect(await claim(engine, 'w2', job.kind)).toBeUndefined()
  })

  test('and whose heartbeat waits for the claim that takes its job away is told to stop', async () => {
    const job = await takenJob({ isOverdue: true })
    const taking = await first.hold((calls) => claim(calls, 'w2', job.kind))
    const late = await second.waits((calls) => beat(calls, job, 'w1'))
    await taking.commit()
    expect(await refusal(late.end)).toMatchObject({ code: 'SF943' })
    expect(await kept(job)).toMatchObject({ leased_by: 'w2' })
  })

  test('and whose heartbeat is being written keeps its job', async () => {
    const job = await takenJob({ isOverdue: true })
    const beating = await first.hold((calls) => beat(calls, job, 'w1'))
    expect(await claim(engine, 'w2', job.kind)).toBeUndefined()
    await beating.commit()
    expect(await claim(engine, 'w2', job.kind)).toBeUndefined()
    await complete(engine, job, 'w1', 'done')
  })
})

describe('two reports of one attempt', () => {
  test('at once are both accepted, and the first result stays', async () => {
    const job = await takenJob({ isOverdue: false })
    const writing = await first.hold((calls) => complete(calls, job, 'w1', 'first'))
    const repeated = await second.waits((calls) => complete(calls, job, 'w1', 'second'))
    await writing.commit()
    await repeated.end
    expect(await kept(job)).toMatchObject({ status: 'completed', result: 'first' })
  })

  test('of which the first one failed the job: the other one is refused', async () => {
    const job = await takenJob({ isOverdue: false })
    const failing = await first.hold((calls) =>
      calls.call('fail_worker_job', { job_id: job.job_id, worker_id: 'w1', attempt: job.attempt, error: 'no' }),
    )
    const other = await second.waits((calls) => complete(calls, job, 'w1', 'yes'))
    await failing.commit()
    expect(await refusal(other.end)).toMatchObject({ code: 'SF943' })
    expect(await kept(job)).toMatchObject({ status: 'failed', result: null })
  })
})

test('a result that waits while its step gives the job up is refused, and one that is being written is not lost', async () => {
  const cancel = (calls: EngineCalls, { job_id }: Job) => calls.call('cancel_worker_job', { job_id })
  const late = await takenJob({ isOverdue: false })
  const givingUp = await first.hold((calls) => cancel(calls, late))
  const result = await second.waits((calls) => complete(calls, late, 'w1', 'late'))
  await givingUp.commit()
  expect(await refusal(result.end)).toMatchObject({ code: 'SF943' })

  const inTime = await takenJob({ isOverdue: false })
  const writing = await first.hold((calls) => complete(calls, inTime, 'w1', 'in time'))
  const givenUp = await second.waits((calls) => cancel(calls, inTime))
  await writing.commit()
  await givenUp.end
  expect(await kept(inTime)).toMatchObject({ status: 'completed', result: 'in time' })
})

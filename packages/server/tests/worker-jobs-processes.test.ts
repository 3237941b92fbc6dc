import { describe, expect, test } from 'vitest'
import { ServerProcesses } from './support/server-processes.ts'
import { testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

describe('a runner that is killed while an external worker has a job of its run', async () => {
  const storage = await testStorage('supabase')
  const { sql } = storage.database!
  const processes = new ServerProcesses(storage)
  const edge = await processes.start('edge')

  const start = async () => (await edge.api.post('/api/runs', { flow: 'pressV1', input: {} })).body.runId as string
  const claim = async () =>
    (await edge.api.post('/api/worker-jobs/claim', { workerId: 'w1', kinds: ['press'], waitSeconds: 20 })).body.job
  const report = (job: { jobId: string; attempt: number }, what: string, more: object = {}) =>
    edge.api.post(`/api/worker-jobs/${job.jobId}/${what}`, { workerId: 'w1', attempt: job.attempt, ...more })
  const ended = async (runId: string) =>
    (
      await until(
        () => edge.api.get(`/api/runs/${runId}`),
        ({ body }) => ['success', 'error'].includes(body.status),
        60_000,
      )
    ).body

  test('loses neither: the worker goes on, its late results count once, and no job is handed out twice', async () => {
    const runner = await processes.start('runner', { STARFLOW_SERVICE_ID: 'dies' })
    const [early, late] = [await start(), await start()]
    const jobs = [await claim(), await claim()]
    const jobOf = (runId: string) => jobs.find((job) => job.runId === runId)
    runner.child.kill('SIGKILL')
    await runner.ended

    // Nobody holds the runs; the jobs are still the worker's.
    expect((await report(jobOf(late), 'heartbeat')).status).toBe(200)
    expect((await report(jobOf(early), 'complete', { result: 'early' })).status).toBe(200)

    await sql`update starflow.workflow_runs set lease_until = now() - interval '1 s' where id in ${sql([early, late])}`
    const heir = await processes.start('runner', { STARFLOW_SERVICE_ID: 'heir' })
    expect((await ended(early)).output).toEqual({ bind: 'bound early' })
    await until(
      async () => (await edge.api.get(`/api/runs/${late}`)).body,
      ({ leasedBy }) => leasedBy?.startsWith('heir-'),
    )
    expect((await report(jobOf(late), 'complete', { result: 'late' })).status).toBe(200)
    expect((await report(jobOf(late), 'complete', { result: 'again' })).status).toBe(200)
    expect((await ended(late)).output).toEqual({ bind: 'bound late' })

    expect(await sql`select attempt, status from starflow.worker_jobs`).toEqual([
      { attempt: 1, status: 'completed' },
      { attempt: 1, status: 'completed' },
    ])
    for (const runId of [early, late]) {
      const { events } = (await edge.api.get(`/api/runs/${runId}/events`)).body
      const types = events.map(({ type, node }: { type: string; node: string | null }) =>
        `${type} ${node ?? ''}`.trim(),
      )
      expect(types).toEqual([
        ...['run_started', 'node_start press', 'runner_lost', 'node_start press', 'node_complete press'],
        ...['node_start bind', 'node_complete bind', 'run_completed'],
      ])
    }
    heir.child.kill('SIGTERM')
    expect(await heir.ended).toBe(0)
  })

  test('and whose run is cancelled meanwhile: the worker is told to stop, and its result is refused', async () => {
    const runner = await processes.start('runner', { STARFLOW_SERVICE_ID: 'dies-too' })
    const runId = await start()
    const job = await claim()
    runner.child.kill('SIGKILL')
    await runner.ended
    await edge.api.post(`/api/runs/${runId}/cancel`)
    expect(await report(job, 'heartbeat')).toMatchObject({ status: 409, body: { error: { code: 'SF943' } } })
    const late = await report(job, 'complete', { result: 'late' })
    expect(late).toMatchObject({ status: 409, body: { error: { code: 'SF943', hint: expect.any(String) } } })
    expect((await edge.api.get(`/api/runs/${runId}`)).body).toMatchObject({ status: 'cancelled', output: null })
  })
})

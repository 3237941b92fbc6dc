import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { externalStep, Flow } from '@starflow/dsl'
import { afterAll, describe, expect, test } from 'vitest'
import { debianProgram } from '../../../e2e/support/debian-package.ts'
import type { ApiClient } from './support/api-client.ts'
import { testServer, testStorage } from './support/test-servers.ts'
import { until } from './support/until.ts'

interface Count {
  words: number
  most: string | null
}
/** Served from outside; the kind is the flow's own, so that tests do not take each other's jobs. */
const counting = (slug: string, kind: string) =>
  new Flow<{ text: string }>({ slug, maxAttempts: 2, baseDelay: 1, timeout: 60 })
    .step({ slug: 'count' }, externalStep<Count>(kind))
    .step({ slug: 'say', dependsOn: ['count'] }, ({ count }) => `${count.words} words`)
const flows = [counting('wordsV1', 'word-count'), counting('otherV1', 'other'), counting('lostV1', 'lost')]

const storage = await testStorage('supabase')
const server = await testServer(storage, {}, { flows })
const acme = await server.workspace('acme')

const startRun = async (flow: string, input = { text: 'to be or not to be' }, caller: ApiClient = acme) => {
  const { status, body } = await caller.post('/api/runs', { flow, input })
  expect(status).toBeLessThan(300)
  return body.runId as string
}
const ended = async (runId: string) =>
  (
    await until(
      () => acme.get(`/api/runs/${runId}`),
      ({ body }) => ['success', 'error'].includes(body.status),
    )
  ).body
const claim = async (kind: string, more: object = {}, caller = acme) =>
  (await caller.post('/api/worker-jobs/claim', { workerId: 'w1', kinds: [kind], waitSeconds: 20, ...more })).body.job
const report = (job: { jobId: string; attempt: number }, what: string, more: object = {}, workerId = 'w1') =>
  acme.post(`/api/worker-jobs/${job.jobId}/${what}`, { workerId, attempt: job.attempt, ...more })
const expire = async (jobId: string) =>
  await storage.database!.sql`update starflow.worker_jobs set lease_until = now() - interval '1 s' where id = ${jobId}`

describe('a job', () => {
  test('is claimed by long polling as soon as its step hands it out, and its result is the output of the step', async () => {
    const polling = claim('other')
    const runId = await startRun('otherV1')
    const job = await polling
    expect(job).toMatchObject({
      runId,
      node: 'count',
      kind: 'other',
      payload: { text: 'to be or not to be' },
      attempt: 1,
    })
    expect((await report(job, 'heartbeat', { leaseSeconds: 60 })).status).toBe(200)
    expect((await report(job, 'complete', { result: { words: 6, most: 'to' } })).status).toBe(200)
    expect(await ended(runId)).toMatchObject({ status: 'success', output: { say: '6 words' } })
  })

  test('is given to one worker, and to nobody of another workspace', async () => {
    const runId = await startRun('otherV1')
    const stranger = await server.workspace('strangers')
    const job = await claim('other')
    expect(await claim('other', { waitSeconds: 0 })).toBeNull()
    expect(await claim('other', { waitSeconds: 0 }, stranger)).toBeNull()
    const foreign = { workerId: 'w1', attempt: job.attempt }
    expect(await stranger.post(`/api/worker-jobs/${job.jobId}/complete`, foreign)).toMatchObject({
      status: 404,
      body: { error: { code: 'SF944' } },
    })
    await report(job, 'complete', { result: { words: 1, most: null } })
    expect(await ended(runId)).toMatchObject({ output: { say: '1 words' } })
  })

  test('whose lease is over is given to another worker, and the report of the first one is refused', async () => {
    const runId = await startRun('otherV1')
    const first = await claim('other')
    await expire(first.jobId)
    const second = await claim('other', { workerId: 'w2' })
    expect(second).toMatchObject({ jobId: first.jobId, attempt: 2 })
    for (const what of ['heartbeat', 'complete'] as const) {
      expect(await report(first, what)).toMatchObject({ status: 409, body: { error: { code: 'SF943' } } })
    }
    expect(await report(first, 'fail', { error: 'late' })).toMatchObject({ status: 409 })
    await report(second, 'complete', { result: { words: 2, most: null } }, 'w2')
    expect(await ended(runId)).toMatchObject({ output: { say: '2 words' } })
  })

  test('that is completed twice keeps its first result', async () => {
    const runId = await startRun('otherV1')
    const job = await claim('other')
    expect((await report(job, 'complete', { result: { words: 3, most: null } })).status).toBe(200)
    expect((await report(job, 'complete', { result: { words: 9, most: null } })).status).toBe(200)
    expect(await ended(runId)).toMatchObject({ output: { say: '3 words' } })
  })

  test('that fails is handed out again by the retries of its step, and its failure is the failure of the step', async () => {
    const runId = await startRun('otherV1')
    const first = await claim('other')
    await report(first, 'fail', { error: 'the disk is full' })
    const second = await claim('other')
    expect(second).toMatchObject({ jobId: first.jobId, attempt: 2 })
    await report(second, 'fail', { error: 'the disk is still full' })
    expect(await ended(runId)).toMatchObject({
      status: 'error',
      error: expect.stringContaining('the disk is still full'),
    })
  })

  test('that fails for good fails its step without another attempt', async () => {
    const runId = await startRun('otherV1')
    await report(await claim('other'), 'fail', { error: 'no such text', isPermanent: true })
    expect(await ended(runId)).toMatchObject({ status: 'error' })
    expect(await claim('other', { waitSeconds: 0 })).toBeNull()
  })

  test('that three workers have lost fails with worker_lost', async () => {
    await startRun('lostV1')
    const job = async () =>
      (await storage.database!.sql`select status, error, lost_leases from starflow.worker_jobs where kind = 'lost'`)[0]
    for (let turn = 1; turn <= 3; turn++) {
      const claimed = await claim('lost')
      expect(claimed).not.toBeNull()
      expect(await job()).toMatchObject({ status: 'leased', lost_leases: turn - 1 })
      await expire(claimed.jobId)
    }
    expect(await claim('lost', { waitSeconds: 0 })).toBeNull()
    expect(await job()).toMatchObject({ status: 'failed', error: 'worker_lost', lost_leases: 3 })
  })

  test('of a run that was cancelled is given to nobody, and its worker is told to stop', async () => {
    const [runId, other] = [await startRun('otherV1'), await startRun('otherV1')]
    const job = await claim('other')
    const waiting = job.runId === runId ? other : runId
    await until(
      async () => await storage.database!.sql`select from starflow.worker_jobs where run_id = ${waiting}`,
      (rows) => rows.length === 1,
    )
    for (const id of [runId, other]) await acme.post(`/api/runs/${id}/cancel`)
    expect(await report(job, 'heartbeat')).toMatchObject({ status: 409 })
    expect(await claim('other', { waitSeconds: 0 })).toBeNull()
  })
})

test('a step that begins anew gets the job that it handed out before, with its result, and no second one', async () => {
  const { sql } = storage.database!
  const [run, again] = [randomUUID(), 'r2']
  await sql`select starflow.on_run_start(${run}, 'otherV1', 'acme', 'prod', '{}', null)`
  const enqueue = async () =>
    (await sql`select id, status, result from starflow.enqueue_worker_job(${run}, 'count', 'mine', '{}', 'key')`)[0]!
  const first = await enqueue()
  expect(await enqueue()).toEqual(first)
  const job = await claim('mine', { workerId: again })
  await report(job, 'complete', { result: 7 }, again)
  expect(await enqueue()).toMatchObject({ id: first.id, status: 'completed', result: 7 })
  expect(await sql`select from starflow.worker_jobs where run_id = ${run}`).toHaveLength(1)
})

test('the worker in Python serves the steps of a flow, with its standard library alone', async () => {
  const file = fileURLToPath(new URL('../../../examples/python-worker/worker.py', import.meta.url))
  const { token } = await server.token('acme')
  const env = { ...process.env, STARFLOW_URL: server.url, STARFLOW_TOKEN: token }
  // -I -S: no site packages.
  const python = spawn(debianProgram('python3', ['python3']), ['-I', '-S', file], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = once(python, 'exit')
  afterAll(() => void python.kill('SIGKILL'))
  let said = ''
  python.stdout.on('data', (data: Buffer) => {
    said += data
  })
  const [good, empty] = [await startRun('wordsV1'), await startRun('wordsV1', { text: '' })]
  expect(await ended(good)).toMatchObject({ status: 'success', output: { say: '6 words' } })
  expect(await ended(empty)).toMatchObject({ status: 'success', output: { say: '0 words' } })
  python.kill('SIGTERM')
  expect(await gone).toEqual([0, null])
  expect(said.match(/^complete .* 200$/gm)).toHaveLength(2)
})

test('on SQLite a claim is refused, and a flow with an external step fails with the reason', async () => {
  const local = await testServer(await testStorage('sqlite'), {}, { flows })
  const caller = await local.workspace('acme')
  const refusal = await caller.post('/api/worker-jobs/claim', { workerId: 'w', kinds: ['other'], waitSeconds: 0 })
  expect(refusal).toMatchObject({ status: 503, body: { error: { code: 'SF942' } } })
  const { body } = await caller.post('/api/runs', { flow: 'otherV1', input: { text: '' } })
  const run = await until(
    () => caller.get(`/api/runs/${body.runId}`),
    (answer) => answer.body.status === 'error',
  )
  expect(run.body.error).toContain('Worker jobs cannot be kept on sqlite')
})

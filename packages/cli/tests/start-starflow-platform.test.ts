import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readFunctions, readWorkers } from '@starflow/core/operations'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type StarflowPlatform,
  type StarflowPlatformOptions,
  startStarflowPlatform,
} from '../src/platform/start-starflow-platform.ts'
import { SampleProject } from './support/sample-project.ts'

const FLOW = `
import process from 'node:process'
import { Flow } from '@starflow/dsl'
const usedMs = (since: ReturnType<typeof process.cpuUsage>) => {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}
export const double = new Flow<{ value: number; burnMs?: number }>({ slug: 'double' })
  .step({ slug: 'multiply' }, ({ value, burnMs = 0 }) => {
    const begun = process.cpuUsage()
    while (usedMs(begun) < burnMs) {}
    return value * 2
  })
`

describe('startStarflowPlatform', () => {
  const project = new SampleProject({ 'supabase/functions/_flows/double.ts': FLOW })
  const dataDir = join(project.root, '.starflow')
  const functionsDir = join(project.root, 'supabase/functions')
  const configFile = join(project.root, 'supabase/config.toml')
  /** CPU of isolates that have ended, by their id. */
  const endedCpuMs = new Map<string, number>()
  const unreported: string[] = []
  const options: StarflowPlatformOptions = {
    ...{ dataDir, functionsDir, configFile },
    onEvent: (event) => {
      if (event.type === 'function.exited') endedCpuMs.set(event.id, event.cpuMs)
      if (event.type === 'cpu.unreported') unreported.push(event.message)
    },
  }
  let platform: StarflowPlatform

  beforeAll(async () => {
    await project.generate()
    appendFileSync(configFile, '\n[api]\nschemas = ["public", "pgflow"]\n')
    platform = await startStarflowPlatform(options)
  })
  afterAll(async () => {
    await platform.dispose()
    project.dispose()
  })

  test('schedules the jobs that start workers, recover stalled tasks, and sample queues', async () => {
    const jobs = await platform.sql`select jobname from cron.job order by jobname`
    expect(jobs.map((job) => job.jobname)).toEqual([
      'pgflow_cleanup_logs',
      'pgflow_ensure_workers',
      'pgflow_requeue_stalled_tasks',
      'starflow_sample_queues',
    ])
  })

  test('a run is completed by a worker that only cron has started', async () => {
    const { sql } = platform
    await until(async () => (await sql`select from pgflow.flows where flow_slug = 'double'`).length === 1)
    const [run] = await sql`select run_id from pgflow.start_flow('double', '{"value": 21}')`
    await until(async () => {
      const [state] = await sql`select status from pgflow.runs where run_id = ${run?.run_id}`
      return state?.status === 'completed'
    })
    const [state] = await sql`select output from pgflow.runs where run_id = ${run?.run_id}`
    expect(state?.output).toEqual({ multiply: 42 })
  })

  test('what a handler burns stands beside its worker while it lives, and all of it when its isolate has ended', async () => {
    const { sql, platform: local } = platform
    const burnMs = 300
    await sql`select pgflow.start_flow('double', ${JSON.stringify({ value: 4, burnMs })}::text::jsonb)`
    const burnt = async () =>
      (await readWorkers(sql, { all: true, limit: 100 })).find(
        // The host counts in ticks of the system.
        ({ cpuMs, tasks }) => cpuMs !== null && cpuMs >= burnMs * 0.9 && tasks !== null && tasks > 0,
      )
    await until(async () => (await burnt()) !== undefined)
    const { executionId, workerId, tasks, cpuMs, cpuMsPerTask } = (await burnt())!
    expect(cpuMsPerTask).toBeCloseTo(cpuMs! / tasks!)
    expect((await readFunctions(sql))[0]).toMatchObject({ functionName: 'double', cpuMsPerTask: expect.any(Number) })

    // A report that fails is told, and the next one has what it had.
    await sql`alter function pgflow.report_cpu(jsonb) rename to unknown`
    expect(await local.functions.killIsolate(executionId)).toBe(true)
    await until(async () => unreported.length > 0)
    expect(unreported).toEqual([expect.stringContaining('pgflow.report_cpu')])
    await sql`alter function pgflow.unknown(jsonb) rename to report_cpu`
    const recorded = async () => (await sql`select cpu_ms::float8 from pgflow.workers where worker_id = ${workerId}`)[0]
    await until(async () => (await recorded())?.cpu_ms === endedCpuMs.get(executionId))
  })

  test('a run is started through the REST API, which serves the schemas of config.toml', async () => {
    const { apiUrl, serviceRoleKey, anonKey } = platform.platform
    const start = (apikey: string) =>
      fetch(`${apiUrl}/rest/v1/rpc/start_flow`, {
        method: 'POST',
        headers: { apikey, 'content-profile': 'pgflow', 'content-type': 'application/json' },
        body: JSON.stringify({ flow_slug: 'double', input: { value: 4 } }),
      })
    const started = await start(serviceRoleKey)
    expect([started.status, await started.json()]).toEqual([200, [expect.objectContaining({ flow_slug: 'double' })]])
    // Closed until the project opens it to its clients.
    expect((await start(anonKey)).status).toBe(401)
  })

  test('a run that waits is resumed through the REST API, with the secret that the start has made', async () => {
    const { sql } = platform
    const { apiUrl, serviceRoleKey } = platform.platform
    await sql`select pgflow.create_flow('approvals')`
    await sql`select pgflow.add_step('approvals', 'approve', step_type => 'wait')`
    const [run] = await sql`select run_id from pgflow.start_flow('approvals', '{}')`
    const [{ token } = {}] = await sql`select pgflow.issue_wait_token(${run!.run_id}, 'approve') as token`
    const resume = async (payload: unknown) => {
      const answer = await fetch(`${apiUrl}/rest/v1/rpc/resume_wait`, {
        method: 'POST',
        headers: { apikey: serviceRoleKey, 'content-profile': 'pgflow', 'content-type': 'application/json' },
        body: JSON.stringify({ token, payload }),
      })
      return [answer.status, await answer.json()]
    }
    const wait = { run_id: run!.run_id, step_slug: 'approve' }
    expect(await resume({ approved: true })).toEqual([200, { ...wait, outcome: 'accepted' }])
    expect(await resume(null)).toEqual([200, { ...wait, outcome: 'already_resumed' }])
    const [state] = await sql`select output from pgflow.runs where run_id = ${run!.run_id}`
    expect(state?.output).toEqual({ approve: { approved: true } })
  })

  test('a start on the same folder keeps the data, and drops functions that are gone', async () => {
    const secret = () => platform.sql`
      select decrypted_secret from vault.decrypted_secrets where name = 'starflow_wait_token_secret'`
    const before = await secret()
    await platform.sql`select pgflow.track_worker_function('gone')`
    let lives: Awaited<ReturnType<typeof readWorkers>> = []
    // There may be none just now: the worker before was killed.
    await until(async () => {
      lives = await readWorkers(platform.sql, { all: false, limit: 100 })
      return lives.length > 0
    })
    await platform.dispose()
    platform = await startStarflowPlatform(options)
    expect(await secret()).toEqual(before)
    const functions = await platform.sql`select function_name from pgflow.worker_functions`
    expect(functions.map((row) => row.function_name)).toEqual(['double'])
    expect(await platform.sql`select from pgflow.runs`).not.toHaveLength(0)
    // Among it what the isolates have used up to their end, which came with that of the platform.
    const now = await readWorkers(platform.sql, { all: true, limit: 100 })
    const ended = lives.map(({ workerId }) => now.find((each) => each.workerId === workerId)!)
    expect(ended).not.toHaveLength(0)
    for (const { executionId, cpuMs } of ended) expect(cpuMs).toBe(endedCpuMs.get(executionId))
  })

  test('a function that throws when it is loaded is known to have failed, with what its ping was answered', async () => {
    project.write('supabase/functions/broken/index.ts', "throw new RangeError('no such setting')\n")
    const { sql } = platform
    await sql`select pgflow.track_worker_function('broken')`
    const row = async () =>
      (await sql`select failed_starts, last_error from pgflow.worker_functions where function_name = 'broken'`)[0]
    await until(async () => (await row())?.failed_starts > 0)
    expect((await row())?.last_error).toMatch(/^The ping was answered with status 50\d: /)
    project.remove('supabase/functions/broken')
  })

  test('a database of other migrations is refused, and made anew only after a yes', async () => {
    const migrationsDir = join(project.root, 'supabase/migrations')
    const migration = join(migrationsDir, '20270101000000_shop.sql')
    mkdirSync(migrationsDir)
    writeFileSync(migration, 'create table shop (id int);')
    const withShop = { ...options, migrationsDir }
    await platform.dispose()
    platform = await startStarflowPlatform(withShop)
    await platform.dispose()

    writeFileSync(migration, 'create table shop (id bigint);')
    await expect(startStarflowPlatform(withShop)).rejects.toMatchObject({ code: 'SF621' })
    await expect(startStarflowPlatform({ ...withShop, mayRecreate: () => false })).rejects.toMatchObject({
      code: 'SF621',
    })
    platform = await startStarflowPlatform({ ...withShop, mayRecreate: () => true })
    expect(await platform.sql`select from pgflow.runs`).toHaveLength(0)
  })
})

test('without generated functions the start is refused and nothing is made', async () => {
  const project = new SampleProject()
  const dataDir = join(project.root, '.starflow')
  await expect(startStarflowPlatform({ dataDir, functionsDir: project.root })).rejects.toMatchObject({ code: 'SF619' })
  expect(project.files('.starflow')).toEqual({})
  project.dispose()
})

/** Looks again until the condition holds; the test's own timeout is the limit. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 50))
}

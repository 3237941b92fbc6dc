import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations } from '@starflow/core/migrations'
import { createLocalPlatform, type LocalPlatform } from '@starflow/local'
import postgres, { type Sql } from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DENO_BINARIES, REPOSITORY } from '../support/programs.ts'

const FUNCTION = 'textstatisticsv1'
/** A ratio within one run: computers differ by more than a change of the worker would. */
const LIFE_IN_BARE_STARTS = 25
const folder = mkdtempSync(join(tmpdir(), 'starflow-e2e-'))
let platform: LocalPlatform
let sql: Sql

beforeAll(async () => {
  platform = await createLocalPlatform({
    dataDir: join(folder, 'platform'),
    functionsDir: join(REPOSITORY, 'functions'),
    deno: DENO_BINARIES['2.1'],
    functionEnv: { STARFLOW_AUTH_SECRET: 'e2e secret' },
    migrations,
  })
  sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => {} })
  await sql`create extension if not exists pg_cron`
  await sql`create extension if not exists pg_net`
  await sql`select pgflow.set_setting('functions_base_url', ${`${platform.apiUrl}/functions/v1`})`
  await sql`select vault.create_secret('e2e secret', 'pgflow_auth_secret')`
  await sql`select pgflow.track_worker_function(${FUNCTION})`
  await sql`select pgflow.setup_ensure_workers_cron()`
  await until(async () => (await liveWorkers()).length === 1)
})
afterAll(async () => {
  await sql?.end({ timeout: 1 })
  await platform?.dispose()
  rmSync(folder, { recursive: true, force: true })
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(50)
}
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const liveWorkers = async () =>
  (
    await sql<{ worker_id: string }[]>`
      select worker_id from pgflow.workers where function_name = ${FUNCTION} and stopped_at is null and deprecated_at is null
        and last_heartbeat_at > now() - interval '12 s' order by started_at`
  ).map(({ worker_id }) => worker_id)
const startRuns = (count: number) => sql`
  select pgflow.start_flows('textStatisticsV1',
    (select jsonb_agg(jsonb_build_object('text', 'Small is beautiful.')) from generate_series(1, ${count}::int)))`

test('an idle worker costs no more CPU in the 400 s that its isolate may live than 25 starts of a bare Deno', {
  timeout: 180_000,
}, async () => {
  // The first seconds poll fast and warm up; what follows is the same every second.
  await sleep(15_000)
  const isolate = () => platform.functions.isolates().find(({ name }) => name === FUNCTION)!
  const [{ cpuMs: warm }, at] = [isolate(), Date.now()]
  await sleep(60_000)
  const perSecond = ((isolate().cpuMs - warm) / (Date.now() - at)) * 1000
  // It claims during the first half of its life; then it has nothing to do, and the host ends it.
  const secondsLeft = platform.functions.limits.wallClockMs / 2000 - 15
  const life = warm + perSecond * secondsLeft
  const bareStart = cpuOfBareStarts()
  console.info(`An idle worker's life: ${Math.round(life)} ms of CPU; a bare start: ${Math.round(bareStart)} ms.`)
  expect(life / bareStart).toBeLessThan(LIFE_IN_BARE_STARTS)
})

/** The mean CPU of a Deno that starts and ends: what CPU costs on this computer now, in milliseconds. */
function cpuOfBareStarts(): number {
  const before = cpuOfEndedChildren()
  const starts = 20
  for (let start = 0; start < starts; start++) execFileSync(DENO_BINARIES['2.1'], ['eval', '0'])
  return (cpuOfEndedChildren() - before) / starts
}

/** User and system time of the children that this process has waited for; the kernel counts in 10 ms. */
function cpuOfEndedChildren(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // After the name, which may hold blanks: state is the first of these.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}

test('a worker that is killed under load is started again within 13 s each time, and every run ends', {
  timeout: 180_000,
}, async () => {
  const deaths: number[] = []
  for (let death = 0; death < 3; death++) {
    await startRuns(200)
    const before = await liveWorkers()
    const [isolate] = platform.functions.isolates().filter(({ name }) => name === FUNCTION)
    const killedAt = Date.now()
    await platform.functions.killIsolate(isolate!.id)
    await until(async () => (await liveWorkers()).some((worker) => !before.includes(worker)))
    // How long Deno boots is the computer's matter.
    const fresh = platform.functions.isolates().find(({ name, id }) => name === FUNCTION && id !== isolate!.id)
    deaths.push((fresh!.startedAt.getTime() - killedAt) / 1000)
  }
  expect(Math.max(...deaths)).toBeLessThanOrEqual(13.5)
  // What was started when a worker died comes back by recovery; as if its boundary had passed.
  await sql`update pgflow.step_tasks set queued_at = queued_at - interval '2 hours', started_at = started_at - interval '1 hour'
    where status = 'started' and last_worker_id <> all (${await liveWorkers()}::uuid[])`
  await sql`select pgflow.requeue_stalled_tasks()`
  await until(async () => (await sql`select from pgflow.runs where status = 'started' limit 1`).length === 0)
  const [runs] = await sql`select count(*)::int as all, count(*) filter (where status = 'completed')::int as completed
    from pgflow.runs`
  expect(runs).toEqual({ all: 600, completed: 600 })
  // One request a death, and what the debounce of 6 s lets through while the killed worker's heartbeat still counts.
  const [pings] = await sql`select count(*)::int as count from net._http_response`
  expect(pings!.count).toBeLessThanOrEqual(3 + 1)
})

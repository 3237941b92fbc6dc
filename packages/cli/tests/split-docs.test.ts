import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { debianProgram } from '../../../e2e/support/debian-package.ts'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { freePort } from './support/free-port.ts'
import { SampleProject } from './support/sample-project.ts'
import { readUnit, type UnitHost, unitHost } from './support/unit-host.ts'

// Whoever follows docs/operations/split.md: its files, its units and its commands, in order, with real processes. What differs
// from the page are folders, ports, secrets and the schedule, which comes every three seconds. Leases are aged instead of waited for.

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SECRET = 'what GitHub and this test share'
const OPERATOR = 'the-operators-token-of-this-test'
const EDGE = ['starflow.server.api@1', 'starflow.server.api@2'] as const
const RUNNER = ['starflow.runner.api@1', 'starflow.runner.api@2'] as const

const database = await testDatabase()
const { sql } = database
const gateway = await restGateway(database, ['public', 'starflow'])
debianProgram('curl', ['curl'])

const folder = mkdtempSync(join(tmpdir(), 'starflow-split-'))
const project = new SampleProject({
  'supabase/functions/_flows/ci.ts': `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Flow } from '@starflow/dsl'

const file = (ref: string, kind: string) => process.env.CI_FOLDER + '/' + encodeURIComponent(ref) + '.' + kind
const note = (ref: string, step: string) => appendFileSync(file(ref, 'log'), step + ' ' + process.env.STARFLOW_SERVICE_ID + '\\n')

export const ci = new Flow<{ ref: string }>({ slug: 'ciV1', maxAttempts: 3, baseDelay: 0 })
  .step({ slug: 'checkout' }, ({ ref }) => {
    note(ref, 'checkout')
    return ref
  })
  .step({ slug: 'build', dependsOn: ['checkout'] }, async ({ checkout: ref }) => {
    note(ref, 'build')
    while (ref.includes('long') && !existsSync(file(ref, 'leave'))) await pause(20)
    return ref
  })
  .step({ slug: 'report', dependsOn: ['build'] }, ({ build: ref }) => note(ref, 'report'))

export const nightly = new Flow({ slug: 'nightlyV1' }).step({ slug: 'tidy' }, () => 'tidy')
`,
})
symlinkSync(join(ROOT, 'node_modules'), join(project.root, 'node_modules'))

const ports = new Map(
  await Promise.all(['8787', '8788', '8791', '8792'].map(async (port) => [port, await freePort()] as const)),
)
const url = (port: string) => `http://127.0.0.1:${ports.get(port)}`
const unitDir = join(folder, 'units')
const envDir = join(folder, 'etc')
const blocks = readBlocks()
/** What the commands of the page need in their environment. */
const shell: Record<string, string> = { DATABASE_URL: database.url, GITHUB_WEBHOOK_SECRET: SECRET }
let host: UnitHost

beforeAll(async () => {
  mkdirSync(unitDir)
  host = await unitHost({
    ...{ folder, unitDir },
    inherited: { PATH: process.env.PATH!, HOME: folder, CI_FOLDER: folder },
  })
})
afterAll(async () => {
  await host.dispose()
  project.dispose()
  rmSync(folder, { recursive: true, force: true })
})

/** The page's words, with the folders, ports and secrets of this test. */
function here(text: string): string {
  const secrets = {
    ...{ key: gateway.serviceRoleKey, 'database URL': database.url, "the operator's token": OPERATOR },
    ...{
      'at least 32 random characters': 'x'.repeat(40),
      'the secret of the webhook': SECRET,
      'a token for metrics': 'a-token-for-metrics-of-this-test',
    },
  }
  return Object.entries(secrets)
    .reduce((done, [name, value]) => done.replaceAll(`<${name}>`, value), text)
    .replaceAll('https://example.supabase.co', gateway.supabaseUrl)
    .replaceAll('/etc/systemd/system', unitDir)
    .replaceAll('/etc/starflow', envDir)
    .replaceAll('/etc/caddy', join(folder, 'caddy'))
    .replaceAll('/srv/starflow', project.root)
    .replaceAll('cron: 0 3 * * *', 'cron: "*/3 * * * * *"')
    .replace(/\b87(?:87|88|91|92)\b/g, (port) => String(ports.get(port)))
}

interface Block {
  readonly section: string
  readonly language: string
  readonly text: string
}

function readBlocks(): Block[] {
  const page = readFileSync(join(ROOT, 'docs/operations/split.md'), 'utf8')
  const found: Block[] = []
  let section = ''
  for (const [, heading, language, text] of page.matchAll(/^#+ (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (heading === undefined) found.push({ section, language: language!, text: text! })
    // A comment in a block is no heading: blocks are taken whole.
    else section = heading
  }
  return found
}

const unused = new Set(blocks)

/** The next block of a section; each is used. */
function next(section: string): Block {
  const block = [...unused].find((each) => each.section === section)
  if (block === undefined) throw new Error(`the section "${section}" of the page has no further block`)
  unused.delete(block)
  return block
}

/** Does what the next block of a section says. */
async function follow(section: string, replaced: Readonly<Record<string, string>> = {}): Promise<string> {
  return await run(next(section), replaced)
}

async function run({ language, text }: Block, replaced: Readonly<Record<string, string>> = {}): Promise<string> {
  const command = Object.entries(replaced).reduce((done, [from, to]) => done.replaceAll(from, to), here(text))
  if (language !== 'sh') {
    const [first] = command.split('\n')
    const path = first!.replace(/^# /, '')
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, command)
    return ''
  }
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd: project.root,
    env: { ...process.env, ...shell, ...host.env, PATH: `${host.binDir}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      output[name] += chunk
    })
  }
  const exitCode = await new Promise((resolve) => child.once('close', resolve))
  if (exitCode !== 0) throw new Error(`${command}\nended with ${exitCode}: ${output.stdout}${output.stderr}`)
  return output.stdout
}

async function until<T>(look: () => Promise<T> | T, isEnough: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await look()
    if (isEnough(found)) return found
    await pause(50)
  }
}

const get = async (path: string, port = '8787', token = shell.TOKEN) => {
  const response = await fetch(`${url(port)}${path}`, { headers: { authorization: `Bearer ${token}` } })
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at it from all sides
  return { status: response.status, body: (await response.json()) as any }
}
const isReady = (port: string) =>
  fetch(`${url(port)}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )
const ready = (...ofPorts: readonly string[]) =>
  until(
    async () => await Promise.all(ofPorts.map(isReady)),
    (all) => all.every(Boolean),
  )
const start = async (ref: string, pool?: string) => {
  const response = await fetch(`${url('8787')}/api/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shell.TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ flow: 'ciV1', input: { ref }, pool }),
  })
  expect(response.status).toBe(201)
  return ((await response.json()) as { runId: string }).runId
}
const ended = async (runId: string) =>
  (
    await until(
      () => get(`/api/runs/${runId}`),
      ({ body }) => body.status === 'success' || body.status === 'error',
    )
  ).body
const file = (ref: string, kind: string) => join(folder, `${encodeURIComponent(ref)}.${kind}`)
/** The steps of the runs with this input, as they were executed: `build starflow.runner.api-1`. */
const executed = (ref: string) =>
  existsSync(file(ref, 'log')) ? readFileSync(file(ref, 'log'), 'utf8').trim().split('\n') : []
const begun = (ref: string, count = 1) =>
  until(
    () => executed(ref).filter((line) => line.startsWith('build')),
    (builds) => builds.length === count,
  )
const leave = (ref: string) => writeFileSync(file(ref, 'leave'), '')
/** As if the time of its lease had passed, and of the runner that held it: one that was killed counts as live until then. */
const ageLease = async (runId: string) => {
  await sql`
    update starflow.workflow_runners w set live_until = now() - interval '1 s'
    from starflow.workflow_runs r where r.id = ${runId} and w.runner_id = r.leased_by`
  await sql`update starflow.workflow_runs set lease_until = now() - interval '1 s' where id = ${runId}`
}
const systemctl = (...words: readonly string[]) =>
  run({ section: '', language: 'sh', text: `systemctl ${words.join(' ')}` })

// Each step stands on those before it.
let hasFailed = false
beforeEach(() => {
  if (hasFailed) throw new Error('a step before this one has failed')
})
afterEach(({ task }) => {
  hasFailed ||= task.result?.state === 'fail'
})

describe('whoever follows docs/operations/split.md', () => {
  test('has environment files for root alone, and sandboxed units that are stopped later than they drain', async () => {
    for (const section of ['Environment files', 'What starts runs', 'Units', 'Caddy']) {
      for (const block of blocks.filter((each) => each.section === section)) {
        unused.delete(block)
        await run(block)
      }
    }
    for (const unit of [...EDGE, ...RUNNER]) {
      const settings = readUnit(unitDir, unit)
      expect(Object.fromEntries(settings)).toMatchObject({
        ...{ NoNewPrivileges: ['yes'], ProtectSystem: ['strict'], ProtectHome: ['yes'], PrivateTmp: ['yes'] },
        ...{ Restart: ['always'], DynamicUser: ['yes'], CapabilityBoundingSet: [''] },
      })
      const [, drainMs] = /STARFLOW_DRAIN_TIMEOUT_MS=(\d+)/.exec(readFileSync(join(envDir, 'runner.env'), 'utf8'))!
      // The last answers take five seconds at most.
      expect(Number(settings.get('TimeoutStopSec')![0]) * 1000).toBeGreaterThan(Number(drainMs) + 5000)
    }
    expect(readUnit(unitDir, RUNNER[0]).get('EnvironmentFile')).toEqual(
      ['common', 'runner', 'runner-1'].map((name) => `${envDir}/${name}.env`),
    )
  })

  test('1: splits one process into an edge and two runners, which share a database, and a webhook goes through them', async () => {
    const tokens = [...(await follow('Rollout')).matchAll(/^sft_[\w-]+$/gm)].map(([token]) => token)
    Object.assign(shell, { TOKEN: tokens[0], OTHER: tokens[1] })
    const section = '1. Two units, each with its role'
    await follow(section)
    await ready('8787', '8791', '8792')
    const health = (await follow(section))
      .replaceAll('}{', '}\n{')
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(health.map(({ role }) => role)).toEqual(['edge', 'runner', 'runner'])
    expect(health.map(({ runner }) => runner?.pool)).toEqual([undefined, null, 'heavy'])
    expect(new Set(health.map(({ databaseId }) => databaseId)).size).toBe(1)
    const { outcome, runId } = JSON.parse(await follow(section))
    expect(outcome).toBe('started')
    await ended(runId)
    expect(JSON.parse(await follow(section, { '<runId>': runId }))).toMatchObject({
      ...{ status: 'success', input: { ref: 'refs/heads/main' }, workspace: 'celestial' },
    })
  })

  let runId = ''
  test('2: sees a run in the log of a runner only', async () => {
    const section = '2. A real run'
    runId = JSON.parse(await follow(section)).runId
    await ended(runId)
    expect(await follow(section, { '<runId>': runId })).toMatch(/run\.claimed[\s\S]*\n0\n$/)
  })

  test('3: a runner that drains answers 503 and claims nothing while its run ends; then it is restarted', async () => {
    const section = '3. A drain'
    const long = JSON.parse(await follow(section)).runId
    expect(await begun('a long one')).toEqual(['build starflow.runner.api-2'])
    // The process that is restarted has read its own; the next one is to be impatient.
    await run({ section, language: 'sh', text: "sed -i 's/300000/300/' /etc/starflow/runner.env" })
    await follow(section)
    const look = next(section)
    const seen = await until(
      () => run(look),
      (text) => text.startsWith('503'),
    )
    expect(JSON.parse(seen.slice('503\n'.length))).toMatchObject({ status: 'draining', runner: { activeRuns: 1 } })
    await ended(await start('meanwhile'))
    expect(executed('meanwhile')).toEqual(
      ['checkout', 'build', 'report'].map((step) => `${step} starflow.runner.api-1`),
    )
    leave('a long one')
    expect((await ended(long)).status).toBe('success')
    expect(executed('a long one').at(-1)).toBe('report starflow.runner.api-2')
    await host.settled()
    expect(host.log(RUNNER[1])).toContain('ended with 0')
    expect(host.starts(RUNNER[1])).toBe(2)
    await ready('8792')
  })

  test('3: a run that outlives the drain is left, swept, and goes on where it was', async () => {
    const long = await start('too long', 'heavy')
    await begun('too long')
    await systemctl('stop', RUNNER[1])
    expect(
      host
        .log(RUNNER[1])
        .filter((line) => line.includes('runner.stopped'))
        .at(-1),
    ).toMatch(/"runsLeft":[1-9]/)
    expect((await get(`/api/runs/${long}`)).body.status).toBe('running')
    await ageLease(long)
    leave('too long')
    await systemctl('start', RUNNER[1])
    await ended(long)
    expect(executed('too long').map((line) => line.split(' ')[0])).toEqual(['checkout', 'build', 'build', 'report'])
    const logs = [...RUNNER, ...EDGE].flatMap((unit) => host.log(unit))
    expect(logs.find((line) => line.includes('run.swept') && line.includes(long))).toContain('requeued')
  })

  test('a runner that is killed in the middle of a run is restarted, the run is claimed again, and no completed node is repeated', async () => {
    const long = await start('long and killed')
    const [build] = await begun('long and killed')
    const unit = build!.endsWith('1') ? RUNNER[0] : RUNNER[1]
    const starts = host.starts(unit)
    await host.kill(unit)
    leave('long and killed')
    await ageLease(long)
    expect((await ended(long)).status).toBe('success')
    expect(executed('long and killed').map((line) => line.split(' ')[0])).toEqual([
      'checkout',
      'build',
      'build',
      'report',
    ])
    const { events } = (await get(`/api/runs/${long}/events`)).body
    const completed = events.filter(({ type }: { type: string }) => type === 'node_complete')
    expect(completed.map(({ node }: { node: string }) => node)).toEqual(['checkout', 'build', 'report'])
    expect(events.map(({ type }: { type: string }) => type)).toContain('runner_lost')
    await until(
      () => host.starts(unit),
      (count) => count === starts + 1,
    )
  })

  test('a runner with a pool claims its pool and what has none, one without only what has none', async () => {
    await ready('8791', '8792')
    await ended(await start('pooled', 'heavy'))
    expect(executed('pooled')[0]).toBe('checkout starflow.runner.api-2')
    await systemctl('stop', RUNNER[0])
    await ended(await start('of no pool'))
    expect(executed('of no pool')[0]).toBe('checkout starflow.runner.api-2')
    await systemctl('start', RUNNER[0])
    const tape = await start('of another pool', 'tape')
    const { runs } = (await get('/api/runners/unserved')).body
    expect(runs).toMatchObject([{ runId: tape, reason: 'other_pool' }])
  })

  test('4: two edges fire each instant of a schedule once, and runners none', async () => {
    await follow('4. Schedules fire once')
    await ready('8788')
    expect(JSON.parse(await follow('4. Schedules fire once')).runs[0]).toMatchObject({ flow: 'nightlyV1' })
    const firings = () => sql<{ occurrence: string; status: string; runs: number }[]>`
      select f.occurrence, f.status, count(r.id)::int as runs from starflow.trigger_firings f
      left join starflow.workflow_runs r on r.idempotency_key = 'schedule/' || f.trigger_name || '/' || f.occurrence
      where f.kind = 'schedule' group by 1, 2 order by 1`
    const { length } = await firings()
    const rows = await until(firings, (all) => all.length >= length + 3 && all.at(-1)!.status === 'started')
    expect(rows.filter(({ runs }) => runs !== 1)).toEqual([])
    const instants = rows.map(({ occurrence }) => Date.parse(occurrence))
    expect(new Set(instants.slice(1).map((instant, index) => instant - instants[index]!))).toEqual(new Set([3000]))
    expect(RUNNER.flatMap((unit) => host.log(unit)).filter((line) => line.includes('trigger.'))).toEqual([])
  })

  test('5: keeps Caddy in front of the edges', async () => {
    await follow('5. Production')
  })

  test('6: the workspace goes from the edge to the runner, and a token of another one sees no run', async () => {
    const answer = await follow('6. Workspaces hold', { '<runId>': runId })
    expect(answer).toContain('"workspaceId":"celestial"')
    expect(answer.trim().split('\n').at(-1)).toBe('404')
  })

  test('and back: with the role both the edges execute again, the runners end, and runs of a pool are seen to wait', async () => {
    const section = 'The way back'
    await follow(section)
    await ready('8787', '8788')
    expect((await get('/health')).body).toMatchObject({ role: 'both' })
    for (const unit of RUNNER) expect(host.log(unit).at(-1)).toBe('ended with 0')
    await ended(await start('back again'))
    expect(executed('back again')[0]).toMatch(/^checkout starflow\.server\.api-[12]$/)
    const pooled = await start('pooled again', 'heavy')
    const { runs } = JSON.parse(await follow(section))
    expect(runs).toContainEqual(expect.objectContaining({ runId: pooled, reason: 'other_pool' }))
  })

  test('and has then done everything that the page says', () => {
    expect([...unused]).toEqual([])
  })
})

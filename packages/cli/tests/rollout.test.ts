import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STARFLOW } from '../../../tests/support/compiled.ts'
import { isAlive } from '../../../tests/support/is-alive.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { starflow } from './support/run-starflow.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)
const folder = mkdtempSync(join(tmpdir(), 'starflow-rollout-'))
const running = new Set<ChildProcess>()
let count = 0

afterEach(async () => {
  for (const child of running) child.kill('SIGKILL')
  await Promise.all([...running].map((child) => once(child, 'close')))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The rollout as a person starts it: a process of its own, which can be killed. */
function rollout(...args: string[]) {
  const { DATABASE_URL: _, ...env } = process.env
  const child = spawn(process.execPath, [...STARFLOW, 'rollout', '--json', '--database-url', database.url, ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let stdout = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  const ended = once(child, 'close').then(([exitCode, signal]) => {
    running.delete(child)
    return { exitCode, signal, result: stdout === '' ? undefined : JSON.parse(stdout) }
  })
  return { child, ended }
}

/** A deploy command behind a shell, as npm starts it, that says that it has begun, and ends when it is let go. */
function deployment() {
  const [begun, go] = [join(folder, `begun-${++count}`), join(folder, `go-${count}`)]
  const script = `
    const { existsSync, renameSync, writeFileSync } = require('node:fs')
    writeFileSync(${JSON.stringify(`${begun}.new`)}, String(process.pid))
    renameSync(${JSON.stringify(`${begun}.new`)}, ${JSON.stringify(begun)})
    setInterval(() => { if (existsSync(${JSON.stringify(go)})) process.exit() }, 20)`
  return {
    command: ['--', 'sh', '-c', '"$0" "$@"; exit $?', process.execPath, '-e', script],
    hasBegun: () => until(() => existsSync(begun)),
    /** Settles when its process is gone. */
    isGone: () => until(() => !isAlive(Number(readFileSync(begun, 'utf8')))),
    letGo: () => writeFileSync(go, ''),
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

const functions = async () =>
  await sql<{ name: string; enabled: boolean; before: boolean | null; fencedBy: string | null }[]>`
    select function_name as name, enabled, enabled_before_fence as before, fenced_by as "fencedBy"
    from pgflow.worker_functions order by function_name`
const register = async (functionName: string) => {
  const workerId = randomUUID()
  await core.registerWorker({ workerId, queueName: functionName, functionName })
  return workerId
}
/** Whoever was killed is over by itself, by the database's clock. */
const letHoldsRunOut = () => sql`update pgflow.fence_holds set held_until = now()`
const beat = (workerId: string) => core.heartbeat(workerId)

/** What a rollout found, and what must stand there in the end. */
const AS_FOUND = [
  { name: 'orders__a', enabled: true, before: null, fencedBy: null },
  { name: 'orders__b', enabled: true, before: null, fencedBy: null },
  { name: 'orders__b-2', enabled: false, before: null, fencedBy: null },
]

beforeEach(async () => {
  await sql`delete from pgflow.workers`
  await sql`delete from pgflow.worker_functions`
  const flow = withStepQueues(
    new Flow<number>({ slug: 'orders' }).step({ slug: 'a' }, (n) => n).step({ slug: 'b' }, (n) => n),
  )
  await core.ensureFlowCompiled({
    flowSlug: 'orders',
    shape: extractFlowShape(flow.flow),
    queueMode: 'step',
    routeMap: flow.routes,
  })
  for (const name of ['orders__a', 'orders__b', 'orders__b-2']) await core.trackWorkerFunction(name)
  await sql`update pgflow.worker_functions set enabled = false where function_name = 'orders__b-2'`
})

describe('starflow rollout --flow', () => {
  test('fences the complete set, drains it, deploys and restores what it found', async () => {
    const workerId = await register('orders__a')
    const deploy = deployment()
    const { ended } = rollout('--flow', 'orders', ...deploy.command)
    await until(async () => (await beat(workerId)) === 'deprecated')
    expect(await functions()).toMatchObject(
      AS_FOUND.map(({ name, enabled }) => ({ name, enabled: false, before: enabled, fencedBy: 'rollout of orders' })),
    )
    await core.markWorkerStopped(workerId)
    await deploy.hasBegun()
    expect((await functions()).every((each) => !each.enabled)).toBe(true)
    deploy.letGo()
    expect(await ended).toMatchObject({
      exitCode: 0,
      result: {
        flowSlug: 'orders',
        functionNames: AS_FOUND.map((each) => each.name),
        drainedWorkers: 1,
        isDryRun: false,
      },
    })
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('killed while it drains, and again while it deploys, it takes its deploy with it; the next one waits until it is over and ends with the recorded values', async () => {
    const workerId = await register('orders__a')
    const deploy = deployment()
    const draining = rollout('--flow', 'orders', ...deploy.command)
    await until(async () => (await beat(workerId)) === 'deprecated')
    draining.child.kill('SIGKILL')
    expect(await draining.ended).toMatchObject({ signal: 'SIGKILL' })
    expect((await functions()).map((each) => each.before)).toEqual([true, true, false])

    await core.markWorkerStopped(workerId)
    await letHoldsRunOut()
    const deploying = rollout('--flow', 'orders', ...deploy.command)
    await deploy.hasBegun()
    deploying.child.kill('SIGKILL')
    await deploy.isGone()
    await deploying.ended
    expect((await functions()).map((each) => each.before)).toEqual([true, true, false])

    const next = rollout('--flow', 'orders', '--no-deploy')
    // It has been refused, and looks.
    await until(async () => {
      const asked = await sql`
        select from pg_stat_activity
        where datname = current_database() and application_name ~ '^rollout' and query ~ '"heldUntil"'`
      return asked.length > 0
    })
    expect(next.child.exitCode).toBe(null)
    await letHoldsRunOut()
    expect(await next.ended).toMatchObject({ exitCode: 0 })
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('goes on when all of its connections are cut while it deploys, and an overlapping one is refused by name and changes nothing', async () => {
    const deploy = deployment()
    const { ended } = rollout('--flow', 'orders', ...deploy.command)
    await deploy.hasBegun()
    const before = await functions()
    const cut = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name ~ '^(starflow$|rollout)'`
    expect(cut.length).toBeGreaterThan(0)
    expect(await rollout('--flow', 'orders', '--no-deploy').ended).toMatchObject({
      exitCode: 1,
      result: { error: { code: 'SF632', message: expect.stringMatching(/overlaps with "rollout of orders by \S+@/) } },
    })
    expect(await functions()).toEqual(before)
    deploy.letGo()
    expect(await ended).toMatchObject({ exitCode: 0 })
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('its fence is lifted from outside by force only, and then its deploy is ended', async () => {
    const deploy = deployment()
    const { ended } = rollout('--flow', 'orders', ...deploy.command)
    await deploy.hasBegun()
    const restore = async (...args: string[]) => {
      const { exitCode, stdout } = await starflow(
        'restore',
        '--flow',
        'orders',
        '--json',
        '--database-url',
        database.url,
        ...args,
      )
      return { exitCode, result: JSON.parse(stdout) }
    }
    expect(await restore()).toMatchObject({
      exitCode: 1,
      result: {
        error: { code: 'SF632', message: expect.stringMatching(/while "rollout of orders by \S+@.*" is at work/) },
      },
    })
    expect((await functions()).every((each) => each.fencedBy === 'rollout of orders')).toBe(true)
    expect(await restore('--force')).toMatchObject({ exitCode: 0 })
    expect(await ended).toMatchObject({ exitCode: 1, result: { error: { code: 'SF637' } } })
    await deploy.isGone()
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('a fence that a person holds is refused by that name', async () => {
    await sql`select pgflow.fence_worker_functions('{orders__b}', 'ben')`
    expect(await rollout('--flow', 'orders', '--no-deploy').ended).toMatchObject({
      exitCode: 1,
      result: { error: { code: 'SF421', message: '"rollout of orders" cannot fence what "ben" has fenced.' } },
    })
    expect((await functions())[0]).toEqual(AS_FOUND[0])
  })

  test('a deploy that fails restores and says why', async () => {
    const command = ['--', process.execPath, '-e', 'console.error("no such project"); process.exit(3)']
    expect(await rollout('--flow', 'orders', ...command).ended).toMatchObject({
      exitCode: 1,
      result: { error: { code: 'SF634', detail: expect.stringContaining('no such project') } },
    })
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('workers that do not end in time are named, and the fence is lifted', async () => {
    const workerId = await register('orders__a')
    expect(await rollout('--flow', 'orders', '--no-deploy', '--drain-timeout', '0.1').ended).toMatchObject({
      exitCode: 1,
      result: { error: { code: 'SF633', fields: { workers: [workerId] } } },
    })
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('Ctrl-C while it drains lifts the fence and ends with 130', async () => {
    const workerId = await register('orders__a')
    const { child, ended } = rollout('--flow', 'orders', '--no-deploy')
    await until(async () => (await beat(workerId)) === 'deprecated')
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ exitCode: 130 })
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('Ctrl-C while it waits for a new version says that nothing was changed', async () => {
    const { DATABASE_URL: _, ...env } = process.env
    const args = ['rollout', '--to', 'orders', '--wait-timeout', '60', '--database-url', database.url]
    const child = spawn(process.execPath, [...STARFLOW, ...args], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    let stderr = ''
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    const ended = once(child, 'close')
    const [said] = await once(child.stdout, 'data')
    expect(String(said)).toMatch(/^waiting {3}\d of \d routes: orders__a/)
    child.kill('SIGINT')
    expect(await ended).toEqual([130, null])
    running.delete(child)
    expect(stderr).toContain('Interrupted. Nothing was changed')
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('--dry-run says what would be done and changes nothing', async () => {
    await register('orders__a')
    expect(await rollout('--flow', 'orders', '--dry-run', '--', 'npm', 'run', 'ship it').ended).toMatchObject({
      exitCode: 0,
      result: {
        isDryRun: true,
        aliveWorkers: 1,
        deploy: "npm run 'ship it'",
        functionNames: AS_FOUND.map((each) => each.name),
      },
    })
    expect(await functions()).toEqual(AS_FOUND)
  })

  test('deploys nothing on the local platform of the project, also when its URL is given', async () => {
    const status = join(folder, '.starflow', 'dev', 'status.json')
    mkdirSync(dirname(status), { recursive: true })
    writeFileSync(status, JSON.stringify({ databaseUrl: database.url }))
    const { ended } = rollout('--flow', 'orders', '--dry-run')
    expect(await ended).toMatchObject({ exitCode: 0, result: { deploy: null } })
    rmSync(status)
  })
})

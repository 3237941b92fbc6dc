import { randomUUID } from 'node:crypto'
import { StarflowSql } from '@starflow/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { starflow } from './support/run-starflow.ts'
import { SampleProject } from './support/sample-project.ts'

const database = await testDatabase()
const { sql } = database
const core = new StarflowSql(sql)
const SHAPE = JSON.stringify({ steps: [{ slug: 'a', stepType: 'single', dependencies: [] }] })

beforeEach(async () => {
  await sql`select pgflow.ensure_flow_compiled('obsolete', ${SHAPE}::text::jsonb, 'step')`
  await sql`select pgflow.start_flows('obsolete', '[1, 2]')`
})
afterEach(async () => {
  await sql`delete from pgflow.workers`
  await sql`select pgflow.delete_flow_and_data('obsolete')`
})

const remove = (...args: string[]) => starflow('flows', 'delete', 'obsolete', '--database-url', database.url, ...args)
const exists = async () => (await sql`select from pgflow.flows where flow_slug = 'obsolete'`).length === 1

describe('flows delete', () => {
  test('--dry-run counts what would go and deletes nothing', async () => {
    const { exitCode, stdout } = await remove('--dry-run')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('runs    2 (2 started)')
    expect(stdout).toContain('queue   obsolete__a: 2 messages, 0 archived')
    expect(await exists()).toBe(true)
  })

  test('--dry-run --json gives the counts as one object', async () => {
    const { stdout } = await remove('--dry-run', '--json')
    expect(JSON.parse(stdout)).toEqual({
      deleted: false,
      mayDelete: true,
      flowSlug: 'obsolete',
      queueMode: 'step',
      runs: { started: 2 },
      tasks: 2,
      queues: [{ queueName: 'obsolete__a', messages: 2, archived: 0 }],
      liveWorkers: [],
    })
  })

  test('--yes deletes the flow with its runs and queues', async () => {
    const { exitCode, stdout } = await remove('--yes')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('Flow obsolete is deleted.')
    expect(await exists()).toBe(false)
    expect(await sql`select from pgflow.runs`).toHaveLength(0)
    expect(await sql`select from pgmq.list_queues()`).toHaveLength(0)
  })

  test('without a terminal and without --yes deletes nothing', async () => {
    const { exitCode, stderr } = await remove()
    expect(exitCode).toBe(1)
    expect(stderr).toContain('SF622')
    expect(await exists()).toBe(true)
  })

  test('is refused while a worker is alive, even with --yes, and names its function', async () => {
    await core.registerWorker({ workerId: randomUUID(), queueName: 'obsolete__a', functionName: 'obsolete-a' })
    const { exitCode, stdout } = await remove('--yes', '--json')
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'SF620', fields: { functionNames: ['obsolete-a'] } } })
    expect(await exists()).toBe(true)
    expect(JSON.parse((await remove('--dry-run', '--json')).stdout)).toMatchObject({ mayDelete: false })
  })

  test('goes on when the worker has stopped', async () => {
    const workerId = randomUUID()
    await core.registerWorker({ workerId, queueName: 'obsolete__a', functionName: 'obsolete-a' })
    await core.markWorkerStopped(workerId)
    expect((await remove('--yes')).exitCode).toBe(0)
  })

  test('names an unknown flow and those that are known', async () => {
    const { exitCode, stderr } = await starflow('flows', 'delete', 'nowhere', '--database-url', database.url, '--yes')
    expect(exitCode).toBe(1)
    expect(stderr).toContain('SF201')
    expect(stderr).toContain('Flows here: obsolete.')
  })

  test('needs a slug', async () => {
    expect((await starflow('flows', 'delete')).exitCode).toBe(2)
  })
})

describe('the database of a command', () => {
  afterEach(() => void vi.unstubAllEnvs())

  test('is that of DATABASE_URL where the option is missing', async () => {
    vi.stubEnv('DATABASE_URL', database.url)
    expect((await starflow('flows', 'delete', 'obsolete', '--dry-run')).exitCode).toBe(0)
  })

  test('that nothing names is asked for', async () => {
    vi.stubEnv('DATABASE_URL', '')
    const project = new SampleProject({ 'starflow.config.json': '{}' })
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(project.root)
    const { exitCode, stderr } = await starflow('flows', 'delete', 'obsolete', '--dry-run')
    cwd.mockRestore()
    project.dispose()
    expect(exitCode).toBe(1)
    expect(stderr).toContain('SF630')
  })

  test.each([
    ['postgres://someone:hunter2@127.0.0.1:1/none', 'postgres://127.0.0.1:1/none'],
    ['postgres://someone:hun/ter2@127.0.0.1:1/none', '(not a URL)'],
    ['not a url: hunter2', '(not a URL)'],
  ])('that cannot be reached is named without its password: %s', async (url, label) => {
    const { exitCode, stderr } = await starflow('flows', 'delete', 'obsolete', '--database-url', url)
    expect(exitCode).toBe(1)
    expect(stderr).toContain(`error SF631: The database ${label} cannot be reached.`)
    expect(stderr).not.toMatch(/hunter2|ter2@/)
  })
})

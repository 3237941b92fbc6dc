import { StarflowSql } from '@starflow/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { starflow } from './support/run-starflow.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
await sql`select pgflow.create_flow('shortlived')`

const prune = (...args: string[]) => starflow('prune', '--database-url', url, ...args)
const kept = async () =>
  (await sql`select run_id from pgflow.runs union all select id from starflow.workflow_runs`).length

// A flow without steps: its runs complete at once.
beforeEach(async () => {
  await sql`delete from pgflow.runs`
  await sql`delete from starflow.workflow_runs`
  await core.startFlows('shortlived', [1, 2, 3])
  await sql`
    update pgflow.runs set started_at = started_at - interval '2 months', completed_at = completed_at - interval '2 months'
    where input <> '3'`
  // One on a runner, which ended as long ago.
  await sql`
    insert into starflow.workflow_runs (template_id, status, claim_state, created_at, completed_at)
    values ('shortlived', 'success', 'complete', now() - interval '2 months', now() - interval '2 months')`
})

const PARTS = '3 runs that ended more than 30 days ago, 2 on step queues and 1 on runners'

describe('prune', () => {
  test('--dry-run counts what would go and deletes nothing', async () => {
    const { exitCode, stdout } = await prune('--older-than', '30 days', '--dry-run')
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(PARTS)])
    expect(await kept()).toBe(4)
    const json = await prune('--older-than', '30 days', '--dry-run', '--json')
    expect(JSON.parse(json.stdout)).toEqual({
      ...{ deleted: false, runs: 3, onQueues: 2, onRunners: 1 },
      olderThan: '30 days',
    })
  })

  test('deletes what it counted after a yes only', async () => {
    const refused = await prune('--older-than', '30 days')
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('error SF622')])
    expect(await kept()).toBe(4)
    const { exitCode, stdout } = await prune('--older-than', '30 days', '--yes', '--json')
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, { deleted: true, runs: 3, olderThan: '30 days' }])
    expect(await kept()).toBe(1)
    expect((await prune('--older-than', '30 days', '--yes')).stdout).toContain('Nothing to delete')
  })

  test.each([
    ['a while', 'SF610'],
    ['-1 days', 'SF001'],
  ])('refuses %s, and deletes nothing', async (olderThan, code) => {
    const { stderr } = await prune('--older-than', olderThan, '--yes')
    expect(stderr).toContain(`error ${code}`)
    expect(await kept()).toBe(4)
  })
})

import { StarflowSql } from '@starflow/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { starflow } from './support/run-starflow.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
await sql`select pgflow.create_flow('shortlived')`

const prune = (...args: string[]) => starflow('prune', '--database-url', url, ...args)
const kept = async () => (await sql`select from pgflow.runs`).length

// A flow without steps: its runs complete at once.
beforeEach(async () => {
  await sql`delete from pgflow.runs`
  await core.startFlows('shortlived', [1, 2, 3])
  await sql`
    update pgflow.runs set started_at = started_at - interval '2 months', completed_at = completed_at - interval '2 months'
    where input <> '3'`
})

describe('prune', () => {
  test('--dry-run counts what would go and deletes nothing', async () => {
    const { exitCode, stdout } = await prune('--older-than', '30 days', '--dry-run')
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('2 runs that ended more than 30 days ago')])
    expect(await kept()).toBe(3)
  })

  test('deletes what it counted after a yes only', async () => {
    const refused = await prune('--older-than', '30 days')
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('error SF622')])
    expect(await kept()).toBe(3)
    const { exitCode, stdout } = await prune('--older-than', '30 days', '--yes', '--json')
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, { deleted: true, runs: 2, olderThan: '30 days' }])
    expect(await kept()).toBe(1)
    expect((await prune('--older-than', '30 days', '--yes')).stdout).toContain('Nothing to delete')
  })

  test.each([
    ['a while', 'SF610'],
    ['-1 days', 'SF001'],
  ])('refuses %s, and deletes nothing', async (olderThan, code) => {
    const { stderr } = await prune('--older-than', olderThan, '--yes')
    expect(stderr).toContain(`error ${code}`)
    expect(await kept()).toBe(3)
  })
})

import { StarflowSql } from '@starflow/core'
import { extractFlowShape, Flow, withStepQueues } from '@starflow/dsl'
import { beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { starflow } from './support/run-starflow.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)
const { flow, routes } = withStepQueues(
  new Flow<number>({ slug: 'lost' }).step({ slug: 'a' }, (n) => n).step({ slug: 'b' }, (n) => n),
)
const queues = routes.map(({ queueName }) => queueName)

const repair = (...args: string[]) => starflow('repair', '--database-url', url, ...args)
const audited = async () => (await sql`select from pgflow.liveness_audit`).length

beforeEach(async () => {
  for (const { slug } of await sql<{ slug: string }[]>`select flow_slug as slug from pgflow.flows`) {
    await sql`select pgflow.delete_flow_and_data(${slug})`
  }
  await core.ensureFlowCompiled({
    flowSlug: flow.slug,
    shape: extractFlowShape(flow),
    queueMode: 'step',
    routeMap: routes,
  })
  await core.startFlows('lost', [1, 2, 3])
})

describe('repair', () => {
  test('makes queues again that a restore has left out, and sends the messages of their tasks', async () => {
    for (const queue of queues) await sql`select pgmq.drop_queue(${queue})`
    expect(await audited()).toBe(6)
    const { exitCode, stdout } = await repair('--json')
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, { repaired: true, queues, sent: 6, left: 0 }])
    expect(await audited()).toBe(0)
    expect((await repair()).stdout).toContain('0 messages sent again.')
  })

  test('--dry-run counts what is lost and changes nothing', async () => {
    await sql`select pgmq.drop_queue(${queues[0]!})`
    const { exitCode, stdout } = await repair('--dry-run', '--json')
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, { repaired: false, lost: 3 }])
    expect(await audited()).toBe(3)
  })

  test('says what it cannot put right, and ends with exit code 1', async () => {
    await sql`update pgflow.step_tasks set status = 'waiting', message_id = null where step_slug = 'a'`
    const { exitCode, stdout, stderr } = await repair()
    expect([exitCode, stdout, stderr]).toEqual([
      1,
      expect.stringContaining('0 messages sent again; 3 tasks left.'),
      expect.stringContaining('npx starflow doctor'),
    ])
  })
})

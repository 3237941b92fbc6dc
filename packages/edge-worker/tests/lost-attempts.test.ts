import { once } from 'node:events'
import { StarflowSql } from '@starflow/core'
import { Flow } from '@starflow/dsl'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { workerFunctionOn } from './support/running-function.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)

/** Step work waits for its signal and tells why it was aborted; step other fails for good. */
function waitingFlow(slug: string) {
  const reasons: string[] = []
  let hasBegun = () => {}
  const begun = new Promise<void>((resolve) => {
    hasBegun = resolve
  })
  const flow = new Flow<{ fails: boolean }>({ slug, maxAttempts: 1, timeout: 600 })
    .step({ slug: 'work' }, async (_, ctx) => {
      const aborted = once(ctx.signal, 'abort')
      hasBegun()
      await aborted
      reasons.push((ctx.signal.reason as Error).message)
    })
    .step({ slug: 'other' }, async ({ fails }) => {
      await begun
      if (fails) throw new Error('for good')
    })
  return { flow, begun, reasons }
}

test.each([
  ['cancelled', 'its run was cancelled'],
  ['failed', 'its run failed'],
] as const)(
  'a handler whose run is %s has its signal aborted, and is dropped without a report',
  {
    timeout: 120_000,
  },
  async (status, why) => {
    const { flow, begun, reasons } = waitingFlow(`lost_${status}`)
    const worker = workerFunctionOn(url, flow)
    await worker.ask()
    const [runId] = await core.startFlows(flow.slug, [{ fails: status === 'failed' }])
    await begun
    if (status === 'cancelled') await sql`select pgflow.cancel_run(${runId!})`
    const { reason } = await worker.event('task.lost')
    await worker.stop()
    expect(reason).toBe(`Attempt 1 of step "work" counts no more: ${why}.`)
    expect(reasons).toEqual([reason])
    // The other step may have ended after its run.
    const refused = worker.events.filter(({ event, stepSlug }) => event === 'report.refused' && stepSlug === 'work')
    expect(refused).toEqual([])
    expect(await sql`select status from pgflow.runs where run_id = ${runId!}`).toEqual([{ status }])
  },
)

test('an attempt counts as long as its task is started by its worker, and is lost with its reason when it is not', async () => {
  const tasks = [{ runId: crypto.randomUUID(), stepSlug: 'work', taskIndex: 0, attempt: 1 }]
  expect(await core.lostAttempts(crypto.randomUUID(), tasks)).toEqual([{ ...tasks[0], reason: 'its run was deleted' }])
})

import { Flow, NonRetryableError, RetryLater } from '@starflow/dsl'
import { describe, expect, test } from 'vitest'
import { failTimes, runFlow, TIMES_OUT } from '../src/index.ts'

interface Order {
  readonly id: number
  readonly items: readonly string[]
}

const orders = new Flow<Order>({ slug: 'orders', maxAttempts: 3, baseDelay: 10 })
  .step({ slug: 'check' }, ({ items }) => [...items])
  .map({ slug: 'pack', array: 'check' }, (item) => item.toUpperCase())
  .step({ slug: 'charge', dependsOn: ['check'] }, ({ check }, ctx) => ({
    amount: check.length,
    account: String((ctx.env as Record<string, string | undefined>).ACCOUNT),
  }))
  .step(
    { slug: 'gift', dependsOn: ['charge'], if: { charge: { amount: 3 } } },
    ({ charge }) => `a gift for ${charge.amount}`,
  )
const approved = new Flow<{ id: number }>({ slug: 'approved' })
  .step({ slug: 'ask' }, ({ id }) => id)
  .wait({ slug: 'approve', dependsOn: ['ask'], timeout: 3600, whenExhausted: 'skip' })
  .step({ slug: 'publish', dependsOn: ['approve'] }, ({ approve }) => ({ approve: approve ?? null }))

const order: Order = { id: 7, items: ['pen', 'ink'] }

describe('runFlow', () => {
  test('runs a flow in memory, and tells what became of each step', async () => {
    const report = await runFlow(orders, order, { env: { ACCOUNT: 'acme' } })
    expect(report).toMatchObject({
      ...{ status: 'success', error: null, output: { pack: ['PEN', 'INK'] } },
      steps: {
        charge: { status: 'completed', output: { amount: 2, account: 'acme' } },
        gift: { status: 'skipped', skipReason: 'condition_unmet', calls: [] },
      },
    })
    expect(report.steps.pack.calls).toEqual([
      { input: 'pen', taskIndex: 0, attempt: 1 },
      { input: 'ink', taskIndex: 1, attempt: 1 },
    ])
  })

  test('has stand-ins where a test wants them, which may call the handler', async () => {
    const seen: unknown[] = []
    const report = await runFlow(orders, order, {
      handlers: {
        charge: ({ check }) => ({ amount: 3, account: check.join() }),
        pack: (item, { stepTask }, handler) => {
          seen.push([item, stepTask.task_index])
          return handler()
        },
      },
    })
    expect(report.output).toEqual({ pack: ['PEN', 'INK'], gift: 'a gift for 3' })
    expect(seen).toEqual([
      ['pen', 0],
      ['ink', 1],
    ])
  })

  test('waits for no delay, and says how long it would have been', async () => {
    const began = performance.now()
    const report = await runFlow(orders, order, { handlers: { charge: failTimes(2) } })
    expect(report.steps.charge.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    // 10 × 2^1 and 10 × 2^2 seconds.
    expect(report.elapsedMs).toBeGreaterThanOrEqual(60_000)
    expect(performance.now() - began).toBeLessThan(report.elapsedMs)
  })

  test('a delay of days, for which a runner gives its run back, passes as well', async () => {
    let tries = 0
    const report = await runFlow(orders, order, {
      handlers: {
        check: (_input, _context, handler) => {
          if (++tries === 1) throw new RetryLater({ delaySeconds: 86_400 })
          return handler()
        },
      },
    })
    expect([report.status, report.steps.check.calls.length]).toEqual(['success', 2])
    expect(report.elapsedMs).toBeGreaterThanOrEqual(86_400_000)
  })

  test.each([
    ['when its attempts are used up', failTimes(3), 3],
    ['at once when no attempt can help', failTimes(1, new NonRetryableError('failed on purpose')), 1],
  ])('fails as the flow would, %s', async (_when, charge, attempts) => {
    const report = await runFlow(orders, order, { handlers: { charge } })
    expect(report).toMatchObject({ status: 'error', output: null, error: expect.stringContaining('on purpose') })
    expect(report.steps.charge).toMatchObject({ status: 'failed', failure: { message: 'failed on purpose' } })
    expect(report.steps.charge.calls).toHaveLength(attempts)
  })

  test('a handler that takes time has it, up to its timeout', async () => {
    const slow = new Flow<null>({ slug: 'slow', timeout: 1, maxAttempts: 1 })
      .step({ slug: 'inTime' }, async () => await new Promise((resolve) => setTimeout(resolve, 50, 'done')))
      .step({ slug: 'hangs', dependsOn: ['inTime'] }, async (_input, ctx) => {
        await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      })
    const report = await runFlow(slow, null)
    expect(report.steps.inTime.output).toBe('done')
    expect(report.steps.hangs.failure?.message).toContain('1 s')
  })

  test('ends waits as it is told to, and stops at one of which nothing is said', async () => {
    const resumed = await runFlow(approved, { id: 1 }, { waits: { approve: { by: 'Ada' } } })
    expect(resumed.output).toEqual({ publish: { approve: { by: 'Ada' } } })
    const late = await runFlow(approved, { id: 1 }, { waits: { approve: TIMES_OUT } })
    expect(late.steps.approve).toMatchObject({ status: 'skipped', skipReason: 'handler_failed' })
    expect(late.elapsedMs).toBeGreaterThanOrEqual(3_600_000)
    const open = await runFlow(approved, { id: 1 })
    expect(open).toMatchObject({ status: 'paused', output: null, steps: { publish: { status: 'created', calls: [] } } })
  })

  test('a transactional step runs, with the sql of the test as its transaction', async () => {
    const ledger = new Flow<number>({ slug: 'ledger' }).step(
      { slug: 'book', transactional: true },
      async (amount, ctx) => await (ctx.tx as unknown as (n: number) => number)(amount),
    )
    expect((await runFlow(ledger, 4, { sql: (n: number) => n * 2 })).output).toEqual({ book: 8 })
  })

  test('runs beside others, each with a time of its own', async () => {
    const reports = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        runFlow(orders, { id: n, items: [`item ${n}`] }, { handlers: { charge: failTimes(n % 3) } }),
      ),
    )
    expect(reports.map(({ output }) => output?.pack)).toEqual(reports.map((_, n) => [`ITEM ${n}`]))
  })
})

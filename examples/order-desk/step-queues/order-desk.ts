import { Flow, NonRetryableError, withStepQueues } from '@starflow/dsl'
import type postgres from 'postgres'
import { CardRefusedError, giveUpOrder, type Providers, payOrder, saveOrder, shipOrder } from '../domain.ts'

export async function placeOrder(sql: postgres.Sql, amount: number): Promise<string> {
  return await sql.begin(async (tx) => {
    const orderId = await saveOrder(tx, amount)
    await tx`select pgflow.start_flow('orderDeskV1', ${tx.json({ orderId })}::jsonb)`
    return orderId
  })
}

/** A step that gives up is skipped, so that `close` still runs and says so in the order. */
export function orderDesk(providers: Providers) {
  const flow = new Flow<{ orderId: string }>({ slug: 'orderDeskV1', maxAttempts: 3, baseDelay: 1, timeout: 30 })
    .step({ slug: 'pay', whenExhausted: 'skip' }, async ({ orderId }, ctx) => {
      await payOrder(ctx.sql, providers, orderId).catch((error: unknown) => {
        throw error instanceof CardRefusedError ? new NonRetryableError(error.message) : error
      })
      return { isPaid: true }
    })
    .step(
      { slug: 'ship', dependsOn: ['pay'], if: { pay: { isPaid: true } }, whenExhausted: 'skip' },
      async (_, ctx) => {
        const { orderId } = await ctx.flowInput
        await shipOrder(ctx.sql, providers, orderId)
        return { isShipped: true }
      },
    )
    .step({ slug: 'close', dependsOn: ['pay', 'ship'] }, async ({ pay, ship }, ctx) => {
      const { orderId } = await ctx.flowInput
      if (pay === undefined) await giveUpOrder(ctx.sql, orderId, 'It could not be paid.')
      else if (ship === undefined) await giveUpOrder(ctx.sql, orderId, 'It could not be shipped.')
    })
  return withStepQueues(flow)
}

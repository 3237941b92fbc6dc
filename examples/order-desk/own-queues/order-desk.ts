import type postgres from 'postgres'
import { giveUpOrder, type Providers, payOrder, saveOrder, shipOrder } from '../domain.ts'
import { QueueConsumer } from './queue-consumer.ts'

/** Once, when the application is installed. */
export async function createQueues(sql: postgres.Sql): Promise<void> {
  for (const queue of ['payments', 'shipments', 'failed_orders']) await sql`select pgmq.create(${queue})`
}

export async function placeOrder(sql: postgres.Sql, amount: number): Promise<string> {
  return await sql.begin(async (tx) => {
    const orderId = await saveOrder(tx, amount)
    await tx`select pgmq.send('payments', ${tx.json({ orderId })}::jsonb)`
    return orderId
  })
}

/** One consumer for each queue, so that slow payments do not hold up shipments. */
export function orderConsumers(sql: postgres.Sql, providers: Providers): readonly QueueConsumer[] {
  const common = {
    ...{ sql, concurrency: 2, visibilitySeconds: 30, maxAttempts: 3, baseDelaySeconds: 1 },
    giveUp: giveUpOrder,
  }
  return [
    new QueueConsumer({
      ...{ ...common, queue: 'payments', nextQueue: 'shipments' },
      handle: (orderId) => payOrder(sql, providers, orderId),
    }),
    new QueueConsumer({
      ...{ ...common, queue: 'shipments' },
      handle: (orderId) => shipOrder(sql, providers, orderId),
    }),
  ]
}

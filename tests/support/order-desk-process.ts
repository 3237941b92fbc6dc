// A process of the order desk that says that it has charged an order, and never comes to report it: for a test that kills it.

import { argv, exit, stdin } from 'node:process'
import postgres from 'postgres'
import type { Providers } from '../../examples/order-desk/domain.ts'
import { orderConsumers } from '../../examples/order-desk/own-queues/order-desk.ts'
import { orderDesk } from '../../examples/order-desk/step-queues/order-desk.ts'
import { workerFunctionOn } from '../../packages/edge-worker/tests/support/running-function.ts'

const [kind, url] = argv.slice(2)
if (kind === undefined || url === undefined) throw new Error('Usage: order-desk-process.ts own-queues|step-queues URL')

// The test's process may be gone without a word.
stdin.on('end', () => exit(1)).resume()

const providers: Providers = {
  charge(orderId) {
    console.log(`charged ${orderId}`)
    return new Promise(() => {})
  },
  ship: () => new Promise(() => {}),
}
if (kind === 'own-queues') for (const consumer of orderConsumers(postgres(url), providers)) consumer.start()
else await workerFunctionOn(url, orderDesk(providers), { stepSlug: 'pay' }).ask()

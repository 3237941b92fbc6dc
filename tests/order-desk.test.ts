import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CardRefusedError, type Providers } from '../examples/order-desk/domain.ts'
import * as own from '../examples/order-desk/own-queues/order-desk.ts'
import * as moved from '../examples/order-desk/step-queues/order-desk.ts'
import { workerFunctionOn } from '../packages/edge-worker/tests/support/running-function.ts'
import { startLineProcess } from '../packages/engine/tests/support/line-process.ts'
import { ROOT } from '../scripts/repository.ts'
import { COMPILED } from './support/compiled.ts'
import { testDatabase } from './support/test-database.ts'

// examples/order-desk, before and after its move onto step queues: the same orders, providers and failures.

const EXAMPLE = join(ROOT, 'examples/order-desk')
const PROCESS = join(ROOT, 'tests/support/order-desk-process.ts')
const { sql, url } = await testDatabase()

/** Providers whose answers a test decides. Like real ones they answer the same when they are asked twice for an order. */
class TestProviders implements Providers {
  readonly asked: string[] = []
  readonly shipments: string[] = []
  charging: (orderId: string, attempt: number) => Promise<void> = async () => {}
  shipping: () => Promise<void> = async () => {}

  async charge(orderId: string): Promise<string> {
    this.asked.push(orderId)
    await this.charging(orderId, this.asked.filter((each) => each === orderId).length)
    return `charge-${orderId}`
  }

  async ship(orderId: string): Promise<string> {
    this.shipments.push(orderId)
    await this.shipping()
    return `parcel-${orderId}`
  }
}

interface Desk {
  readonly name: string
  readonly kind: string
  install(): Promise<void>
  place(amount: number): Promise<string>
  /** Starts the workers of a process; the answer stops them. */
  work(providers: Providers): Promise<() => Promise<void>>
  /** As if the time had passed after which the work of a process that was lost is somebody else's. */
  passBoundary(): Promise<void>
}

const ownQueues: Desk = {
  name: 'on queues of its own',
  kind: 'own-queues',
  install: () => own.createQueues(sql),
  place: (amount) => own.placeOrder(sql, amount),
  async work(providers) {
    const consumers = own.orderConsumers(sql, providers)
    for (const consumer of consumers) consumer.start()
    return async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()))
    }
  },
  passBoundary: async () => {
    await sql`update pgmq.q_payments set vt = now() - interval '1 s'`
  },
}

const stepQueues: Desk = {
  name: 'on step queues',
  kind: 'step-queues',
  // Its workers compile the flow when they start.
  install: async () => {},
  place: (amount) => moved.placeOrder(sql, amount),
  async work(providers) {
    const desk = moved.orderDesk(providers)
    const workers = ['pay', 'ship', 'close'].map((stepSlug) =>
      workerFunctionOn(url, desk, { stepSlug, maxConcurrent: 2 }),
    )
    for (const worker of workers) expect(await worker.ask()).toMatchObject({ status: 'started' })
    return async () => {
      await Promise.all(workers.map((worker) => worker.stop()))
    }
  },
  passBoundary: async () => {
    await sql`update pgflow.step_tasks set started_at = started_at - interval '1 hour', queued_at = queued_at - interval '1 hour' where status = 'started'`
    await sql`update pgmq.q_orderdeskv1__pay set vt = now() - interval '1 s'`
  },
}

/** Closed until somebody opens it. */
function latch(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

const order = async (id: string) =>
  (await sql<{ status: string }[]>`select status from desk.orders where id = ${id}`)[0]!

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}
const reaches = (id: string, status: string) => until(async () => (await order(id)).status === status)

beforeAll(async () => {
  await sql.unsafe(readFileSync(join(EXAMPLE, 'domain.sql'), 'utf8'))
})

describe.each([ownQueues, stepQueues])('the order desk $name', (desk) => {
  let providers: TestProviders
  const running: (() => Promise<void>)[] = []
  const start = async () => {
    running.push(await desk.work(providers))
  }
  beforeAll(() => desk.install())
  beforeEach(() => {
    providers = new TestProviders()
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((stop) => stop()))
  })

  test('charges and ships each of 20 orders once, with two processes at work', async () => {
    await start()
    await start()
    const orders = await Promise.all(Array.from({ length: 20 }, (_, index) => desk.place(index + 1)))
    await Promise.all(orders.map((id) => reaches(id, 'shipped')))
    expect(providers.asked.toSorted()).toEqual(orders.toSorted())
    expect(providers.shipments.toSorted()).toEqual(orders.toSorted())
  })

  test('tries again when the provider fails, and gives up when it fails to the last', async () => {
    let hopeless = ''
    providers.charging = async (orderId, attempt) => {
      if (orderId === hopeless || attempt === 1) throw new Error('The provider is down.')
    }
    await start()
    const lucky = await desk.place(10)
    hopeless = await desk.place(20)
    await reaches(lucky, 'shipped')
    await reaches(hopeless, 'failed')
    expect(providers.asked.filter((each) => each === lucky)).toHaveLength(2)
    expect(providers.asked.filter((each) => each === hopeless)).toHaveLength(3)
    expect(providers.shipments).toEqual([lucky])
  })

  test('does not try a card again that was refused', async () => {
    providers.charging = async () => {
      throw new CardRefusedError('The card was refused.')
    }
    await start()
    const refused = await desk.place(10)
    await reaches(refused, 'failed')
    expect(providers.asked).toEqual([refused])
  })

  test('finishes an order whose process was killed between the charge and its report, and charges it under the same key', async () => {
    const lost = startLineProcess(execPath, [...COMPILED, PROCESS, desk.kind, url])
    const id = await desk.place(10)
    await lost.line(new RegExp(`^charged ${id}$`))
    lost.child.kill('SIGKILL')
    await lost.ended
    await desk.passBoundary()
    await start()
    await reaches(id, 'shipped')
    expect(providers.asked).toEqual([id])
  })

  test('ships what is paid while payments are so slow that all of their workers are taken', async () => {
    const slow = latch()
    const carrier = latch()
    await start()
    providers.shipping = () => carrier.opened
    const paid = await desk.place(1)
    await reaches(paid, 'paid')
    providers.charging = () => slow.opened
    const waiting = await Promise.all(Array.from({ length: 6 }, () => desk.place(2)))
    await until(() => waiting.filter((id) => providers.asked.includes(id)).length === 2)
    carrier.open()
    await reaches(paid, 'shipped')
    expect((await Promise.all(waiting.map(order))).map(({ status }) => status)).toEqual(Array(6).fill('placed'))
    slow.open()
    await Promise.all(waiting.map((id) => reaches(id, 'shipped')))
  })
})

test('the README says how much of the code of queues and workers is gone', async () => {
  const lines = (...files: string[]) =>
    files
      .flatMap((file) => readFileSync(join(EXAMPLE, file), 'utf8').split('\n'))
      .filter((line) => line.trim() !== '' && !/^\s*(\/\/|\/\*\*|\*)/.test(line))
  const before = lines('own-queues/queue-consumer.ts', 'own-queues/order-desk.ts')
  const after = lines('step-queues/order-desk.ts')
  const queries = (text: readonly string[]) => text.filter((line) => line.includes('pgmq.')).length
  const readme = readFileSync(join(EXAMPLE, 'README.md'), 'utf8')
  expect(readme).toContain(`| lines of queue and worker code | ${before.length} | ${after.length} |`)
  expect(readme).toContain(`| lines of the domain | ${lines('domain.ts').length} | ${lines('domain.ts').length} |`)
  expect(readme).toContain(`| statements on pgmq | ${queries(before)} | ${queries(after)} |`)
})

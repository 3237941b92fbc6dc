import { Flow, NonRetryableError, type RunnerContext, unchecked, withStepQueues } from '@starflow/dsl'
import { z } from 'zod'

/** Where handlers wait for leave, so that a test sees a run under way. Open unless a test closes it. */
export class Gate {
  #opened: Promise<void> = Promise.resolve()
  #open: () => void = () => {}

  close(): void {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(): void {
    this.#open()
  }

  /** Settles when the gate is open. */
  async pass(): Promise<void> {
    await this.#opened
  }
}

/** What the handlers of the flows below look at. */
export interface FlowWorld {
  /** Before a payment is taken. */
  readonly payment: Gate
  /** Whether the bank answers. */
  isBankThere: boolean
}

const order = z.object({
  orderId: z.string().min(1).describe('As the shop calls it.'),
  customer: z.object({ name: z.string(), email: z.email() }),
  lines: z.array(z.object({ sku: z.string(), quantity: z.int().min(1).max(999) })).describe('What was ordered.'),
  priority: z.enum(['normal', 'express']).default('normal'),
  isGift: z.boolean().default(false),
  note: z.string().max(2000).nullable().optional(),
})
type Order = z.input<typeof order>

/** An order from its check to the parcel: a map, a condition, and an approval where it is large. */
export function orders(world: FlowWorld) {
  const flow = new Flow({ slug: 'orderV2', input: order, maxAttempts: 3, baseDelay: 1, timeout: 60 })
    .step({ slug: 'check' }, (input: Order) => ({
      orderId: input.orderId,
      total: input.lines.reduce((sum, { quantity }) => sum + quantity * 1250, 0),
      isLarge: input.lines.some(({ quantity }) => quantity > 100),
    }))
    .array({ slug: 'lines', dependsOn: ['check'] }, async (_, ctx) => (await ctx.flowInput).lines.slice())
    .map({ slug: 'reserve', array: 'lines' }, ({ sku, quantity }) => ({ sku, quantity, shelf: sku.length % 7 }))
    .step({ slug: 'charge', dependsOn: ['check'] }, async ({ check }) => {
      await world.payment.pass()
      if (!world.isBankThere) throw new NonRetryableError('The bank does not answer: connect ECONNREFUSED 10.0.0.7:443')
      return { paid: check.total, currency: 'EUR' }
    })
    .wait({
      slug: 'approve',
      dependsOn: ['check'],
      if: { check: { isLarge: true } },
      timeout: 3 * 24 * 60 * 60,
      payload: unchecked<{ approved: boolean }>(),
    })
    .step({ slug: 'wrap', dependsOn: ['reserve'] }, ({ reserve }) => ({ parcels: Math.ceil(reserve.length / 10) }))
    .step({ slug: 'ship', dependsOn: ['wrap', 'charge', 'approve'] }, ({ wrap, charge }) => ({
      tracking: `PX-${wrap.parcels}-${charge.paid}`,
    }))
    .step({ slug: 'confirm', dependsOn: ['ship'] }, ({ ship }) => ({ mailed: true, tracking: ship.tracking }))
  return withStepQueues(flow)
}

/** Goes wrong twice, and then well: what retries look like. */
export const imports = withStepQueues(
  new Flow<{ rows: number }>({ slug: 'importV1', maxAttempts: 3, baseDelay: 1, timeout: 60 })
    .step({ slug: 'fetch' }, async (_, ctx) => {
      if (ctx.stepTask.attempt < 3) throw new TypeError(`upstream answered 503 (attempt ${ctx.stepTask.attempt})`)
      return { rows: 3 }
    })
    .step({ slug: 'load', dependsOn: ['fetch'] }, ({ fetch }) => fetch.rows),
)

/** Executed by runners. */
export const reports = new Flow<{ month: string }>({ slug: 'reportV1', maxAttempts: 1 })
  .step({ slug: 'collect' }, ({ month }) => ({ month, rows: 42 }))
  .step({ slug: 'render', dependsOn: ['collect'] }, ({ collect }) => `${collect.month}: ${collect.rows} rows`)
  .wait({ slug: 'release', dependsOn: ['render'] })
  .step({ slug: 'publish', dependsOn: ['render', 'release'] }, ({ render }) => render)

/** Says how far it is, and goes on with the payments. */
export function exports(world: FlowWorld) {
  return new Flow<object, RunnerContext>({ slug: 'exportV1', maxAttempts: 1 }).step(
    { slug: 'write' },
    async (_, ctx) => {
      await ctx.progress({ rows: 120, of: 400 })
      await world.payment.pass()
      return 400
    },
  )
}

import { Flow, withStepQueues } from '@starflow/dsl'
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import { describe, expectTypeOf, test } from 'vitest'
import { createStarflowClient, type FlowEvent, type FlowRun, type RunStatus } from './index.ts'

const orders = new Flow<{ id: string }>({ slug: 'ordersV1' })
  .step({ slug: 'price' }, ({ id }) => ({ id, cents: 100, at: new Date() }))
  .step({ slug: 'notify', dependsOn: ['price'], if: { price: { cents: 100 } } }, () => true)
const mails = withStepQueues(new Flow<string[]>({ slug: 'mailsV1' }).map({ slug: 'send' }, (to) => to.length))

const supabase = createClient('http://localhost', 'key')
const client = createStarflowClient<{ ordersV1: typeof orders; mailsV1: typeof mails }>(supabase)

describe('a client that knows its flows', () => {
  test('knows their slugs', () => {
    expectTypeOf(client.startFlow).parameter(0).toEqualTypeOf<'ordersV1' | 'mailsV1'>()
    // @ts-expect-error there is no such flow
    void client.startFlow('ordersV2', { id: '1' })
  })

  test('takes the input of the flow only', () => {
    void client.startFlow('mailsV1', ['a@example.com'])
    // @ts-expect-error the input is an object with an id
    void client.startFlow('ordersV1', ['1'])
    // @ts-expect-error each input is an object with an id
    void client.startFlows('ordersV1', [{ id: 1 }])
  })

  test('gives runs with the input, outputs and steps of the flow, plain or with step queues', async () => {
    const run = await client.startFlow('ordersV1', { id: '1' })
    expectTypeOf(run.input).toEqualTypeOf<{ id: string }>()
    expectTypeOf(run.output).toEqualTypeOf<{ notify?: boolean } | null>()
    expectTypeOf(run.step('price').output).toEqualTypeOf<{ id: string; cents: number; at: string } | null>()
    // @ts-expect-error there is no such step
    run.step('prise')
    const mail = (await client.startFlows('mailsV1', [['a']]))[0]!
    expectTypeOf(mail.output).toEqualTypeOf<{ send: number[] } | null>()
    expectTypeOf(await client.getRun('id', 'ordersV1')).toEqualTypeOf<FlowRun<typeof orders> | null>()
    expectTypeOf(await client.retryRun(run)).toEqualTypeOf<FlowRun<typeof orders>>()
  })

  test('gives events that are told apart by their type and step', async () => {
    const run = await client.startFlow('ordersV1', { id: '1' })
    for await (const event of run) {
      if (event.type === 'run:completed') expectTypeOf(event.output).toEqualTypeOf<{ notify?: boolean }>()
      if (event.type === 'step:completed' && event.stepSlug === 'notify') {
        expectTypeOf(event.output).toEqualTypeOf<boolean>()
      }
    }
    run.on('completed', (event) => expectTypeOf(event.output).toEqualTypeOf<{ notify?: boolean }>())
    run.on('*', (event) => expectTypeOf(event).toEqualTypeOf<FlowEvent<typeof orders>>())
    run.step('notify').on('completed', (event) => expectTypeOf(event.output).toEqualTypeOf<boolean>())
    // @ts-expect-error a run is never skipped
    run.on('skipped', () => {})
  })
})

test('a client that knows no flows takes every slug and input', async () => {
  const any = createStarflowClient(supabase)
  const run = await any.startFlow('whatever', { a: 1 })
  expectTypeOf(run.input).toBeUnknown()
  expectTypeOf(run.status).toEqualTypeOf<RunStatus>()
  expectTypeOf(run.step('any').slug).toEqualTypeOf<'any'>()
})

test('takes the supabase client of an application, whatever types it was generated with', () => {
  interface Database {
    public: {
      Tables: { todos: { Row: { id: number }; Insert: { id: number }; Update: { id?: number }; Relationships: [] } }
      Views: Record<string, never>
      Functions: Record<string, never>
    }
  }
  createStarflowClient({} as SupabaseClient<Database>)
  createStarflowClient({} as SupabaseClient)
})

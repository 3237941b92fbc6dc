import { randomUUID } from 'node:crypto'
import { type AnyFlow, Flow } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import { expect, onTestFinished, test } from 'vitest'
import { LocalWorkflowStateAdapter } from '../src/adapters/local/index.ts'
import { Engine } from '../src/engine/engine.ts'
import type { EngineEvent } from '../src/engine/events.ts'
import { overriddenAdapter } from './support/overridden-adapter.ts'

const single = new Flow<number>({ slug: 'single' }).step({ slug: 'double' }, (n) => n * 2)

/** A store whose first `onNodeComplete` fails as the adapter of a Supabase project does it with this HTTP status. */
async function failingOnce(status: number) {
  const store = await LocalWorkflowStateAdapter.open({ path: ':memory:' })
  let calls = 0
  const failing = overriddenAdapter(store, {
    bind: (claim) => {
      const bound = store.bind(claim)
      return overriddenAdapter(bound, {
        onNodeComplete: async (...args) => {
          if (++calls > 1) return await bound.onNodeComplete(...args)
          throw new StarflowError({
            ...{ code: 'SF803', message: 'The call of starflow.on_node_complete failed.', fields: { status } },
            ...{ detail: `The API answered with ${status}.`, hint: 'The call may be repeated.' },
          })
        },
      })
    },
  })
  return { failing, calls: () => calls }
}

test.each([0, 500, 503])('a store that could not be reached (status %i) is asked again', async (status) => {
  const { failing } = await failingOnce(status)
  const events: EngineEvent[] = []
  const engine = new Engine({ adapter: failing, onEvent: (event) => void events.push(event) })
  expect(await engine.run(single, 4, { runId: randomUUID() })).toMatchObject({ end: 'success', output: { double: 8 } })
  expect(events.filter(({ event }) => event === 'write.retried')).toMatchObject([{ method: 'onNodeComplete' }])
})

test.each([400, 401, 403])('what a store refuses (status %i) is not asked again', async (status) => {
  const { failing, calls } = await failingOnce(status)
  await expect(new Engine({ adapter: failing }).run(single, 4)).rejects.toMatchObject({ code: 'SF803' })
  expect(calls()).toBe(1)
})

test('many nodes at once leave no warning of too many listeners', async () => {
  const warnings: string[] = []
  const listen = ({ name }: Error) => void warnings.push(name)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const wide = Array.from({ length: 12 }).reduce<AnyFlow>(
    // The cast: which steps it has is only known here.
    (flow, _, index) => (flow as Flow<number>).step({ slug: `n${index}` }, (n) => n),
    new Flow<number>({ slug: 'wide' }),
  )
  const adapter = await LocalWorkflowStateAdapter.open({ path: ':memory:' })
  expect(await new Engine({ adapter }).run(wide, 1)).toMatchObject({ end: 'success' })
  // Warnings are told in a turn of their own.
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})

import { expect, test } from 'vitest'
import { LocalWorkflowStateAdapter } from '../src/adapters/local/index.ts'
import { eventTypes, heldRun, startRun } from './conformance/run-fixture.ts'
import { slowFailing } from './support/slow-failing-adapter.ts'

test('every method fails once, with nothing done, and works the second time', async () => {
  const inner = await LocalWorkflowStateAdapter.open({ path: ':memory:' })
  const { adapter, calls } = slowFailing(inner, { fails: 'before' })
  const { runId, bound } = await heldRun(inner)
  const slow = adapter.bind({ runId, runnerId: 'runner-a', claimAttempts: 1 })
  await expect(slow.onNodeStart(runId, 'pack', { attempt: 1 })).rejects.toThrow('lost during onNodeStart')
  expect(await eventTypes(bound, runId)).toEqual(['run_started'])
  await slow.onNodeStart(runId, 'pack', { attempt: 1 })
  await slow.onNodeStart(runId, 'label', { attempt: 1 })
  expect(calls).toEqual(['onNodeStart pack failed', 'onNodeStart pack', 'onNodeStart label'])
  await inner.close()
})

test('an answer that is lost has had its effect, and the repetition has none', async () => {
  const inner = await LocalWorkflowStateAdapter.open({ path: ':memory:' })
  const { adapter } = slowFailing(inner, { fails: 'after' })
  const runId = await startRun(inner)
  await expect(adapter.onNodeStart(runId, 'pack', { attempt: 1 })).rejects.toThrow('lost')
  await adapter.onNodeStart(runId, 'pack', { attempt: 1 })
  expect(await eventTypes(inner, runId)).toEqual(['run_started', 'node_start'])
  await inner.close()
})

test('a call that nobody awaited is seen on its way', async () => {
  const inner = await LocalWorkflowStateAdapter.open({ path: ':memory:' })
  const { adapter, underway } = slowFailing(inner, { fails: 'never' })
  const runId = await startRun(inner)
  const call = adapter.onNodeSkip(runId, 'gift', 'condition_unmet')
  expect(underway()).toEqual(['onNodeSkip gift'])
  await call
  expect(underway()).toEqual([])
  await inner.close()
})

import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { RunEventView } from '../runs/run-placement.ts'
import { eventStream } from './event-stream.ts'

const event = (id: number): RunEventView => ({
  ...{ id: `${id}`, type: 'node_complete', node: 'a', payload: { output: 'x'.repeat(1000) } },
  at: '2026-01-01T00:00:00.000Z',
})

function endlessFollower() {
  let calls = 0
  return {
    get calls() {
      return calls
    },
    next: async () => {
      calls++
      return Array.from({ length: 100 }, (_, index) => event(index))
    },
  }
}

it('reads no more of a run than its client takes: one that reads slowly fills no memory', async () => {
  const follower = endlessFollower()
  const options = { follower, hasEnded: async () => false, signal: new AbortController().signal }
  const reader = (await eventStream(options)).body!.getReader()
  for (let round = 0; round < 100; round++) await turn()
  expect(follower.calls).toBeLessThan(4)
  const before = follower.calls
  for (let chunk = 0; chunk < 20; chunk++) expect((await reader.read()).done).toBe(false)
  // What has come already is sent without a pause.
  expect(follower.calls).toBeGreaterThan(before + 10)
  await reader.cancel()
})

it('ends when nobody may follow it any longer', async () => {
  const controller = new AbortController()
  const follower = { next: async () => [] }
  const reader = (
    await eventStream({ follower, hasEnded: async () => false, signal: controller.signal })
  ).body!.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('retry: 1000\n\n')
  const rest = reader.read()
  controller.abort()
  expect((await rest).done).toBe(true)
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DEFAULT_INTERVALS } from './intervals.ts'
import type { RunState } from './run-state.ts'
import { RunStore } from './run-store.ts'
import { RunWatch } from './run-watch.ts'
import type { ChannelPort, SupabasePort } from './supabase-port.ts'

const ROW = { run_id: '1', flow_slug: 'orders', status: 'started', input: {}, started_at: '2026-01-01T00:00:00Z' }
const RUN = { runId: '1', flowSlug: 'orders', status: 'started', startedAt: new Date(0) } as RunState

/** A project whose answers come when the test says. */
class StagedProject implements SupabasePort {
  reads = 0
  answer: () => Promise<{ data: unknown; error: unknown }> = async () => ({
    data: { run: ROW, steps: [], events: 'private' },
    error: null,
  })
  tell: (status: string) => void = () => {}
  readonly realtime = { setAuth: async () => {}, accessTokenValue: null }

  schema() {
    return {
      rpc: () => {
        this.reads++
        return this.answer()
      },
    }
  }

  channel(): ChannelPort {
    const channel: ChannelPort = {
      on: () => channel,
      subscribe: (callback) => {
        this.tell = callback
        return channel
      },
    }
    return channel
  }

  async removeChannel() {}
}

const start = (project: StagedProject) => {
  const lost: unknown[] = []
  const store = new RunStore(RUN, () => {})
  const watch = new RunWatch({
    supabase: project,
    store,
    intervals: DEFAULT_INTERVALS,
    realtime: true,
    delivery: 'private',
    onChange: () => {},
    onLost: (error) => lost.push(error),
  })
  watch.start()
  return { watch, store, lost }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('while events come it reads once a minute, which keeps the run watched', async () => {
  const project = new StagedProject()
  const { watch } = start(project)
  await vi.advanceTimersByTimeAsync(0)
  project.tell('SUBSCRIBED')
  await vi.advanceTimersByTimeAsync(0)
  expect(project.reads).toBe(1)
  await vi.advanceTimersByTimeAsync(10 * 60_000)
  expect(project.reads).toBe(11)
  watch.stop()
  await vi.advanceTimersByTimeAsync(10 * 60_000)
  expect(project.reads).toBe(11)
})

test('while none come it polls after 1, 2 and 4 s and then every 5, and begins anew when it loses the channel', async () => {
  const project = new StagedProject()
  const { watch } = start(project)
  const readsAfter: number[] = []
  for (let second = 0; second < 17; second++) {
    await vi.advanceTimersByTimeAsync(1_000)
    readsAfter.push(project.reads)
  }
  expect(readsAfter).toEqual([1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5])
  project.tell('SUBSCRIBED')
  await vi.advanceTimersByTimeAsync(30_000)
  expect(project.reads).toBe(6)
  project.tell('CHANNEL_ERROR')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(project.reads).toBe(8)
  watch.stop()
})

test('what happens while a read is under way is read after it, once', async () => {
  const project = new StagedProject()
  const { watch } = start(project)
  await vi.advanceTimersByTimeAsync(0)
  let finish = () => {}
  const { answer } = project
  project.answer = () => new Promise((resolve) => (finish = () => resolve(answer())))
  project.tell('SUBSCRIBED')
  await vi.advanceTimersByTimeAsync(0)
  project.answer = answer
  for (let time = 0; time < 5; time++) project.tell('SUBSCRIBED')
  expect(project.reads).toBe(1)
  finish()
  await vi.advanceTimersByTimeAsync(100)
  expect(project.reads).toBe(2)
  watch.stop()
})

test('what comes of a read after the watch was stopped changes nothing, and what was to be read is not', async () => {
  const project = new StagedProject()
  const { watch, store } = start(project)
  await vi.advanceTimersByTimeAsync(0)
  let finish = () => {}
  project.answer = () =>
    new Promise((resolve) => {
      finish = () =>
        resolve({ data: { run: { ...ROW, status: 'completed' }, steps: [], events: 'private' }, error: null })
    })
  project.tell('SUBSCRIBED')
  await vi.advanceTimersByTimeAsync(0)
  project.tell('SUBSCRIBED')
  watch.stop()
  finish()
  await vi.advanceTimersByTimeAsync(60_000)
  expect([project.reads, store.run.status]).toEqual([1, 'started'])
})

test('a read that fails is repeated, and one that is denied ends the watch', async () => {
  const project = new StagedProject()
  const { watch, lost } = start(project)
  project.answer = async () => ({ data: null, error: { code: '', message: 'fetch failed' } })
  await vi.advanceTimersByTimeAsync(3_000)
  expect([project.reads, lost]).toEqual([2, []])
  expect(watch.lastProblem).toMatchObject({ code: 'SF226', detail: 'fetch failed' })
  project.answer = async () => ({ data: null, error: { code: '42501', message: 'permission denied' } })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(project.reads).toBe(3)
  expect(lost).toMatchObject([{ code: 'SF226', hint: expect.stringContaining('grant_client_access') }])
})

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Heartbeat } from './heartbeat.ts'
import type { WorkerState } from './worker-sql.ts'

describe('Heartbeat', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())
  const never = () => new Promise<WorkerState>(() => {})

  it('beats every 5 s from start to stop; twice of either is fine', async () => {
    const states: WorkerState[] = []
    const heartbeat = new Heartbeat({
      beat: async () => 'running',
      onState: (state) => states.push(state),
      onFailure: () => {},
    })
    heartbeat.stop()
    heartbeat.start()
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(states).toHaveLength(3)
    heartbeat.stop()
    heartbeat.stop()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(states).toHaveLength(3)
  })

  it('goes another way when the own connection is held up', async () => {
    const states: WorkerState[] = []
    const heartbeat = new Heartbeat({
      beat: never,
      beatElsewhere: async () => 'deprecated',
      onState: (state) => states.push(state),
      onFailure: () => {},
    })
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(6999)
    expect(states).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(states).toEqual(['deprecated'])
    heartbeat.stop()
  })

  it('goes no other way while the own connection answers', async () => {
    const beatElsewhere = vi.fn(async () => 'running' as const)
    const heartbeat = new Heartbeat({
      beat: async () => 'running',
      beatElsewhere,
      onState: () => {},
      onFailure: () => {},
    })
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(beatElsewhere).not.toHaveBeenCalled()
    heartbeat.stop()
  })

  it('tells a failure and beats again', async () => {
    const failures: unknown[] = []
    const states: WorkerState[] = []
    let count = 0
    const heartbeat = new Heartbeat({
      beat: async () => {
        if (++count === 1) throw new Error('down')
        return 'running'
      },
      onState: (state) => states.push(state),
      onFailure: (error) => failures.push((error as Error).message),
    })
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(10_000)
    expect([failures, states]).toEqual([['down'], ['running']])
    heartbeat.stop()
  })

  it('sends nothing while claims say it', async () => {
    const beat = vi.fn(async () => 'running' as const)
    const heartbeat = new Heartbeat({ beat, onState: () => {}, onFailure: () => {} })
    heartbeat.start()
    for (let second = 1; second <= 60; second++) {
      await vi.advanceTimersByTimeAsync(1000)
      heartbeat.claimed(performance.now())
    }
    expect(beat).not.toHaveBeenCalled()
    heartbeat.stop()
  })

  it('does not count a claim that the database did not write down, and beats 5 s after the last that it did', async () => {
    const beats: number[] = []
    const heartbeat = new Heartbeat({
      beat: async () => {
        beats.push(performance.now() - begun)
        return 'running'
      },
      onState: () => {},
      onFailure: () => {},
    })
    const begun = performance.now()
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(3400)
    heartbeat.claimed(performance.now())
    await vi.advanceTimersByTimeAsync(10_000)
    expect(beats).toEqual([5000, 10_000])
    heartbeat.stop()
  })

  it('goes on beating when claims end', async () => {
    const beat = vi.fn(async () => 'running' as const)
    const heartbeat = new Heartbeat({ beat, onState: () => {}, onFailure: () => {} })
    heartbeat.start()
    await vi.advanceTimersByTimeAsync(3600)
    heartbeat.claimed(performance.now())
    await vi.advanceTimersByTimeAsync(4999)
    expect(beat).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(beat).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(5000)
    expect(beat).toHaveBeenCalledTimes(2)
    heartbeat.stop()
  })
})

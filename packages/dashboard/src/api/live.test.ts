import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Live, type LiveStream, POLL_MS, REFRESH_MS } from './live.ts'

/** A stream that a test speaks for. */
class TestStream implements LiveStream {
  readyState = 0
  isClosed = false
  readonly #listeners = new Map<string, ((event: { data?: unknown }) => void)[]>()

  addEventListener(type: string, listener: (event: { data?: unknown }) => void): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener])
  }

  say(type: string, data?: unknown): void {
    for (const listener of this.#listeners.get(type) ?? []) listener({ data })
  }

  close(): void {
    this.isClosed = true
  }
}

const EVERYTHING = 'everything'
let streams: TestStream[]
let asked: string[]
let isVisible: boolean
let live: Live

beforeEach(() => {
  vi.useFakeTimers()
  streams = []
  asked = []
  isVisible = true
  live = new Live({
    queryClient: {
      invalidateQueries: async (filters) => {
        asked.push(filters?.queryKey === undefined ? EVERYTHING : String(filters.queryKey[0]))
      },
    },
    openStream: () => {
      const stream = new TestStream()
      streams.push(stream)
      return stream
    },
    isVisible: () => isVisible,
  })
})
afterEach(() => {
  live.stop()
  vi.useRealTimers()
})

const stream = () => streams.at(-1) as TestStream

describe('with hints', () => {
  beforeEach(() => {
    live.start()
    stream().say('open')
    asked.length = 0
  })

  test('what has changed is asked again, and what is made of all kinds, once for many hints', () => {
    for (let time = 0; time < 50; time++) stream().say('hint', 'queues')
    stream().say('hint', 'runs')
    expect(asked).toEqual([])
    vi.advanceTimersByTime(1_000)
    expect(asked).toEqual(['queues', 'runs', 'overview'])
  })

  test('everything is asked again now and then, since ages grow without a hint', () => {
    vi.advanceTimersByTime(REFRESH_MS)
    expect(asked).toEqual([EVERYTHING])
    expect(live.state).toBe('live')
  })

  test('nothing is asked for a page that nobody sees', () => {
    isVisible = false
    vi.advanceTimersByTime(REFRESH_MS * 3)
    expect(asked).toEqual([])
  })
})

describe('without hints', () => {
  test('everything is asked every few seconds, and the stream is tried again after a refusal', () => {
    live.start()
    stream().readyState = 2
    stream().say('error')
    expect(live.state).toBe('polling')
    vi.advanceTimersByTime(POLL_MS * 2)
    expect(asked).toEqual([EVERYTHING, EVERYTHING])
    vi.advanceTimersByTime(30_000)
    expect(streams).toHaveLength(2)
    stream().say('open')
    expect(live.state).toBe('live')
  })

  test('a stream that breaks is left to the browser, and what was missed is asked when it is back', () => {
    live.start()
    stream().say('open')
    stream().say('error')
    expect(live.state).toBe('polling')
    asked.length = 0
    stream().say('open')
    expect(asked).toEqual([EVERYTHING])
    expect(streams).toHaveLength(1)
  })
})

test('whoever listens is told of another state; starting and stopping twice is fine', () => {
  const states: string[] = []
  live.subscribe(() => states.push(live.state))
  live.start()
  live.start()
  expect(streams).toHaveLength(1)
  stream().say('open')
  expect(states).toEqual(['connecting', 'live'])
  live.stop()
  live.stop()
  expect(streams[0]?.isClosed).toBe(true)
  vi.advanceTimersByTime(REFRESH_MS * 2)
  expect(asked).toEqual([EVERYTHING])
  live.start()
  expect(streams).toHaveLength(2)
})

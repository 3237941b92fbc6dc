import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { LiveListener } from '../live/live-hints.ts'
import { LIVE_KINDS } from '../live/live-marks.ts'
import { hintStream } from './hint-stream.ts'

function opened(signal: AbortSignal, ...runIds: string[]) {
  const listeners = new Set<LiveListener>()
  const listen = (listener: LiveListener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const reader = hintStream({ listen }, runIds, signal).body!.pipeThrough(new TextDecoderStream()).getReader()
  return { listeners, reader, tell: (kind: 'runs' | 'queues') => tellAll(listeners, kind, runIds) }
}

function tellAll(listeners: ReadonlySet<LiveListener>, kind: 'runs' | 'queues', runIds: readonly string[]) {
  for (const { tell } of listeners) tell({ kinds: [kind], runIds })
}

it('keeps no more for whoever does not read than one hint of each kind, and tells that when it reads again', async () => {
  const controller = new AbortController()
  const { reader, tell, listeners } = opened(controller.signal, 'r1')
  for (let round = 0; round < 10_000; round++) {
    tell(round % 2 === 0 ? 'runs' : 'queues')
    if (round % 100 === 0) await turn()
  }
  const chunks: string[] = []
  const reading = (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) chunks.push(read.value)
  })()
  for (let round = 0; round < 100; round++) await turn()
  const text = chunks.join('')
  expect(text.length).toBeLessThan(2000)
  for (const kind of LIVE_KINDS) expect(text).toContain(`data: ${kind}\n`)
  expect(chunks.at(-1)).toContain('data: r1')
  // Whoever reads is told at once.
  chunks.length = 0
  tell('runs')
  for (let round = 0; round < 100; round++) await turn()
  expect(chunks.join('')).toBe('event: hint\ndata: runs\n\nevent: run\ndata: r1\n\n')
  controller.abort()
  await reading
  expect(listeners.size).toBe(0)
})

it('forgets whoever has hung up, also one that never read', async () => {
  const { reader, listeners, tell } = opened(new AbortController().signal)
  for (let round = 0; round < 100; round++) await turn()
  expect(listeners.size).toBe(1)
  tell('runs')
  await reader.cancel()
  for (let round = 0; round < 100; round++) await turn()
  expect(listeners.size).toBe(0)
})

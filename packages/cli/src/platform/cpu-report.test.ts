import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CPU_REPORT_INTERVAL_MS, CpuReport, type MeasuredIsolate } from './cpu-report.ts'

describe('CpuReport', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())
  const later = () => vi.advanceTimersByTimeAsync(CPU_REPORT_INTERVAL_MS)

  function reporting(answer: () => Promise<void> = async () => {}) {
    const isolates: MeasuredIsolate[] = []
    const sent: Readonly<Record<string, number>>[] = []
    const failures: unknown[] = []
    const report = new CpuReport({
      isolates: () => isolates,
      send: (cpuMs) => {
        sent.push(cpuMs)
        return answer()
      },
      onFailure: (error) => failures.push((error as Error).message),
    })
    return { report, isolates, sent, failures }
  }

  test('tells all isolates in one go, those that have ended twice more, and nothing where there are none', async () => {
    const { report, isolates, sent } = reporting()
    report.start()
    await later()
    expect(sent).toEqual([])
    isolates.push({ id: 'a', cpuMs: 10 }, { id: 'b', cpuMs: 20 })
    await later()
    isolates.splice(0, 2, { id: 'b', cpuMs: 30 })
    report.ended({ id: 'a', cpuMs: 15 })
    await later()
    await later()
    await later()
    expect(sent).toEqual([{ a: 10, b: 20 }, { a: 15, b: 30 }, { a: 15, b: 30 }, { b: 30 }])
    await report.stop()
  })

  test('tells the rest twice when it is stopped, once where that fails; without a start, nothing', async () => {
    const { report, sent } = reporting()
    report.ended({ id: 'a', cpuMs: 15 })
    await report.stop()
    expect(sent).toEqual([])
    report.start()
    await report.stop()
    await report.stop()
    await later()
    expect(sent).toEqual([{ a: 15 }, { a: 15 }])
    const down = reporting(() => Promise.reject(new Error('down')))
    down.report.start()
    down.report.ended({ id: 'a', cpuMs: 15 })
    await down.report.stop()
    expect([down.sent, down.failures]).toEqual([[{ a: 15 }], ['down']])
  })

  test('says the first of several failures, and the next report has what they had', async () => {
    let isDown = true
    const { report, sent, failures } = reporting(async () => {
      if (isDown) throw new Error('down')
    })
    report.start()
    report.ended({ id: 'a', cpuMs: 15 })
    await later()
    await later()
    expect([sent, failures]).toEqual([[{ a: 15 }, { a: 15 }], ['down']])
    isDown = false
    await later()
    await later()
    await later()
    expect([sent.length, failures]).toEqual([4, ['down']])
    await report.stop()
  })
})

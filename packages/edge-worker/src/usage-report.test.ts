import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { UsageReport, type WorkerUsage } from './usage-report.ts'

describe('UsageReport', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A report of a worker whose tasks the test counts. */
  function reporting(answer: () => Promise<void> = async () => {}) {
    const sent: WorkerUsage[] = []
    const failures: unknown[] = []
    let tasks = 0
    const endTasks = (count: number) => {
      tasks += count
    }
    const report = new UsageReport({
      measure: () => ({ tasks, cpuMs: tasks * 2 }),
      send: (usage) => {
        sent.push(usage)
        return answer()
      },
      onFailure: (error) => failures.push((error as Error).message),
    })
    return { report, sent, failures, endTasks }
  }

  it('tells every second what there is by then, and nothing while no task ends', async () => {
    const { report, sent, endTasks } = reporting()
    report.start()
    report.start()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sent).toEqual([])
    endTasks(3)
    await vi.advanceTimersByTimeAsync(60_000)
    endTasks(1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sent).toEqual([
      { tasks: 3, cpuMs: 6 },
      { tasks: 4, cpuMs: 8 },
    ])
    await report.stop()
  })

  it('tells the rest when it is stopped, once, and before anything else is sent', async () => {
    const { report, sent, endTasks } = reporting()
    report.start()
    endTasks(2)
    const stopped = report.stop()
    expect(sent).toEqual([{ tasks: 2, cpuMs: 4 }])
    await stopped
    await report.stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sent).toHaveLength(1)
  })

  it('waits for a report under way before the last one', async () => {
    const answers: (() => void)[] = []
    const { report, sent, endTasks } = reporting(() => new Promise((resolve) => answers.push(resolve)))
    report.start()
    endTasks(1)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(sent).toHaveLength(1)
    endTasks(1)
    const stopped = report.stop()
    expect(sent).toHaveLength(1)
    answers.shift()!()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ tasks }) => tasks)).toEqual([1, 2])
    answers.shift()!()
    await stopped
  })

  it('says the first of several failures, goes on, and tells all with the next report', async () => {
    let isDown = true
    const { report, sent, failures, endTasks } = reporting(async () => {
      if (isDown) throw new Error('down')
    })
    report.start()
    endTasks(1)
    await vi.advanceTimersByTimeAsync(3_000)
    expect([sent.length, failures]).toEqual([3, ['down']])
    isDown = false
    await vi.advanceTimersByTimeAsync(10_000)
    expect([sent.length, failures]).toEqual([4, ['down']])
    isDown = true
    endTasks(1)
    await report.stop()
    expect([sent.at(-1)?.tasks, failures]).toEqual([2, ['down', 'down']])
  })
})

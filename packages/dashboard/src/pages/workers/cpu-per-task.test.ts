import { describe, expect, test } from 'vitest'
import { cpuOfFunction, cpuOfWorker } from './cpu-per-task.ts'

const HOSTED = 'Not measured: an edge function on hosted Supabase cannot measure itself.'

describe('CPU per task', () => {
  const worker = { tasks: 400, workersInExecution: 1, cpuMs: 124, cpuMsPerTask: 0.31 }

  test('of a worker is a figure that says what it is made of', () => {
    expect(cpuOfWorker(worker)).toEqual({
      figure: '0.31 ms',
      meaning: '124 ms of CPU by the tasks of its life, polls included.',
    })
    expect(cpuOfWorker({ ...worker, workersInExecution: 3 }).meaning).toBe(
      '124 ms of CPU by the tasks of all 3 workers in its isolate or process.',
    )
  })

  test('of a worker that has none says why', () => {
    const without = { ...worker, cpuMsPerTask: null }
    expect(cpuOfWorker({ ...without, cpuMs: null })).toEqual({ figure: null, meaning: HOSTED })
    expect(cpuOfWorker({ ...without, tasks: null }).meaning).toBe('It does not tell how many tasks it has ended.')
    expect(cpuOfWorker({ ...without, tasks: 0 })).toEqual({ figure: null, meaning: 'No task has ended there yet.' })
  })

  test('of a function says over how many workers it is, or why there is none', () => {
    expect(cpuOfFunction({ startMode: 'http', measuredWorkers: 2, cpuMsPerTask: 12.34 })).toEqual({
      figure: '12.3 ms',
      meaning: 'Over 2 measured workers: of the last hour, and those that go on.',
    })
    const none = { measuredWorkers: 0, cpuMsPerTask: null }
    expect(cpuOfFunction({ ...none, startMode: 'http' })).toEqual({ figure: null, meaning: HOSTED })
    expect(cpuOfFunction({ ...none, startMode: 'process' }).meaning).toMatch(/^Not measured yet/)
    expect(cpuOfFunction({ ...none, startMode: 'http', measuredWorkers: 1 }).meaning).toBe(
      'No task has ended there yet.',
    )
  })
})

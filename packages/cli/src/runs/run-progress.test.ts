import { extractFlowShape, Flow, type JsonObject } from '@starflow/dsl'
import type { RunEvent, RunEventType } from '@starflow/engine'
import { describe, expect, test } from 'vitest'
import { RunProgress } from './run-progress.ts'
import { stepLine } from './run-view.ts'

let lastId = 0

function event(type: RunEventType, nodeId: string | null = null, payload: JsonObject | null = null): RunEvent {
  const id = String(++lastId)
  return { id, runId: 'run', type, nodeId, payload, createdAt: new Date(lastId * 1000).toISOString() }
}

const flow = new Flow<{ n: number }>({ slug: 'numbers' })
  .array({ slug: 'list' }, ({ n }) => [n])
  .map({ slug: 'double', array: 'list' }, (n) => n * 2)
  .map({ slug: 'again', array: 'double' }, (n) => n * 2)
  .wait({ slug: 'approve', dependsOn: ['again'] })
  .step({ slug: 'publish', dependsOn: ['approve'] }, () => null)
const shape = extractFlowShape(flow)

function lines(progress: RunProgress): string[] {
  return progress.steps.map(stepLine)
}

describe('the progress of a run', () => {
  test('knows the steps to come, and how many elements a map has', () => {
    const progress = new RunProgress(shape, { n: 3 })
    for (const each of [
      ...[event('run_started'), event('node_start', 'list'), event('node_complete', 'list', { output: [1, 2, 3] })],
      ...[event('node_start', 'double[0]'), event('node_complete', 'double[0]', { output: 2 })],
      event('node_start', 'double[1]'),
    ]) {
      progress.apply(each)
    }
    expect(lines(progress)).toEqual([
      ...['✓ list  1.0 s', '▸ double  running  1 of 3', '· again', '· approve', '· publish'],
    ])
  })

  test('ends a map with its last element, and knows the size of a map over it', () => {
    const progress = new RunProgress(shape)
    progress.apply(event('node_complete', 'list', { output: [1] }))
    progress.apply(event('node_start', 'double[0]'))
    expect(progress.apply(event('node_complete', 'double[0]', { output: 2 }))).toMatchObject({
      state: 'done',
      total: 1,
    })
    expect(progress.apply(event('node_start', 'again[0]'))).toMatchObject({ state: 'running', total: 1 })
  })

  test('of a map over the input has the size of the input', () => {
    const doubled = new Flow<number[]>({ slug: 'doubled' }).map({ slug: 'double' }, (n) => n * 2)
    const progress = new RunProgress(extractFlowShape(doubled), [1, 2])
    expect(progress.apply(event('node_start', 'double[0]'))).toMatchObject({ total: 2 })
  })

  test('tells a wait from a step that runs, and why one failed or was skipped', () => {
    const progress = new RunProgress(shape)
    progress.apply(event('node_start', 'approve'))
    progress.apply(event('node_error', 'list', { error: { message: 'no list' } }))
    progress.apply(event('node_skip', 'publish', { reason: 'condition_unmet' }))
    expect(lines(progress)).toEqual([
      ...[
        '✗ list  failed  no list',
        '· double',
        '· again',
        '⏸ approve  waiting',
        '– publish  skipped  condition unmet',
      ],
    ])
  })

  test('without the shape of the flow is what has happened; a map ends with its run', () => {
    const progress = new RunProgress()
    for (const each of [event('node_start', 'double[0]'), event('node_complete', 'double[0]', { output: 1 })]) {
      progress.apply(each)
    }
    expect(lines(progress)).toEqual(['▸ double  running  1'])
    progress.apply(event('run_completed'))
    expect(progress.steps).toMatchObject([{ slug: 'double', state: 'done', done: 1 }])
  })

  test('of a run that failed or was cancelled shows what was under way as stopped, and a retry begins it anew', () => {
    for (const end of ['run_failed', 'run_cancelled'] as const) {
      const progress = new RunProgress(shape, { n: 3 })
      for (const each of [event('node_start', 'list'), event('node_start', 'approve'), event(end)]) progress.apply(each)
      expect(lines(progress)).toEqual([
        ...['■ list  stopped  2.0 s', '· double', '· again', '■ approve  stopped  1.0 s', '· publish'],
      ])
      progress.apply(event('run_retried'))
      expect(lines(progress)).toEqual(['· list', '· double', '· again', '· approve', '· publish'])
    }
  })

  test('of a run that is retried begins again for all that was not done', () => {
    const progress = new RunProgress(shape)
    progress.apply(event('node_complete', 'list', { output: [] }))
    progress.apply(event('node_error', 'double[0]', { error: { message: 'no' } }))
    progress.apply(event('run_retried'))
    expect(lines(progress).slice(0, 2)).toEqual(['✓ list', '· double'])
  })
})

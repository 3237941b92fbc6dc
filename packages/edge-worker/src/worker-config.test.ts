import { isStarflowError } from '@starflow/errors'
import { describe, expect, it } from 'vitest'
import { type FlowQueueConfig, resolveWorkerConfig } from './worker-config.ts'

function problemsOf(config: unknown, kind?: Parameters<typeof resolveWorkerConfig>[1]): string {
  try {
    resolveWorkerConfig(config as FlowQueueConfig, kind)
  } catch (error) {
    if (isStarflowError(error, 'SF001')) return error.message
    throw error
  }
  return ''
}

describe('resolveWorkerConfig', () => {
  it('has a default for everything', () => {
    expect(resolveWorkerConfig().settings).toEqual({
      maxConcurrent: 10,
      batchSize: 10,
      maxPgConnections: 4,
      pollIntervalMs: 20,
      maxPollIntervalMs: 1000,
      visibilityTimeout: 10,
      onUnsupportedMessage: 'skip',
    })
  })

  for (const value of [0, -1, null, 5, Number.NaN, '20', 20.5, Number.POSITIVE_INFINITY]) {
    it(`refuses a poll interval of ${JSON.stringify(value)} (${String(value)})`, () => {
      expect(problemsOf({ pollIntervalMs: value })).toMatch('"pollIntervalMs" must be a whole number from 10 to 60000')
    })
  }

  it('refuses an idle interval below the busy one, and raises the default to it', () => {
    expect(problemsOf({ pollIntervalMs: 500, maxPollIntervalMs: 100 })).toMatch('must not be below')
    expect(resolveWorkerConfig({ pollIntervalMs: 5000 }).settings.maxPollIntervalMs).toBe(5000)
  })

  it('answers an unknown option with the known ones', () => {
    expect(problemsOf({ maxConcurent: 3 })).toMatch(
      /"maxConcurent" is not an option of the worker of a flow; the options are maxConcurrent,/,
    )
  })

  it.each([
    ['flow', 'visibilityTimeout', 5],
    ['flow', 'instances', 2],
    ['flow', 'queueName', 'mails'],
    ['flow', 'retry', { limit: 3 }],
    ['flow', 'timeout', 60],
    ['step', 'visibilityTimeout', 5],
    ['step', 'queueName', 'mails'],
    ['step', 'retry', { limit: 3 }],
    ['queue', 'stepSlug', 'pack'],
    ['queue', 'instances', 2],
    ['queue', 'onUnsupportedMessage', 'halt'],
  ] as const)('of a %s refuses %s, which would change nothing there', (kind, option, value) => {
    expect(problemsOf({ [option]: value }, kind)).toMatch(`"${option}" is not an option of the worker of a ${kind}`)
    expect(problemsOf({ [option]: undefined }, kind)).toBe('')
  })

  it('takes the settings of a step as defineWorkers holds them', () => {
    const settings = { maxConcurrent: 2, instances: 3, batchSize: undefined }
    expect(resolveWorkerConfig({ ...settings }, 'step').settings).toMatchObject({ maxConcurrent: 2, batchSize: 10 })
  })

  it('names every problem at once', () => {
    const message = problemsOf({ maxConcurrent: 0, batchSize: 'x', onUnsupportedMessage: 'stop' })
    expect(message).toMatch('"maxConcurrent"')
    expect(message).toMatch('"batchSize"')
    expect(message).toMatch("'skip' or 'halt'")
  })

  it('never repeats a connection string', () => {
    expect(problemsOf({ connectionString: 'postgres://u:secret@h/d', sql: 1 })).not.toMatch('secret')
  })

  it('freezes what handlers see, and keeps the connection out of it', () => {
    const { settings, connection } = resolveWorkerConfig({ connectionString: 'postgres://u:secret@h/d' })
    expect(Object.isFrozen(settings)).toBe(true)
    expect(JSON.stringify(settings)).not.toMatch('secret')
    expect(connection.connectionString).toBe('postgres://u:secret@h/d')
  })
})

import { describe, expect, test } from 'vitest'
import type { ExportedFlow } from './flow-modules.ts'
import { connectionWarnings, functionWarnings, localWarnings, needsOf } from './project-needs.ts'
import { workerFunctionsOf } from './worker-functions.ts'

const flowOf = (steps: number, connections: Record<string, number> = {}): ExportedFlow => ({
  ...{ module: '_flows/long.ts', exportName: 'long', flowSlug: 'long' },
  routes: Array.from({ length: steps }, (_, n) => ({ stepSlug: `s${n}`, queueName: `long__s${n}` })),
  workers: { exportName: 'workers', instances: {}, connections },
})
const needs = (flow: ExportedFlow, grouped = false) =>
  needsOf(
    [flow],
    workerFunctionsOf([flow], () => grouped),
  )

describe('what worker functions need', () => {
  test('is one function and twice four connections for each step, and seven connections of a grouped function', async () => {
    const grouped = { functions: 1, workers: 150, connections: 2 * 7 }
    expect(await needs(flowOf(150))).toEqual({ functions: 150, workers: 150, connections: 2 * 150 * 4, grouped })
    expect(await needs(flowOf(150), true)).toEqual({ ...grouped, grouped })
  })

  test('follows maxPgConnections: workers of a function share theirs where it is the same', async () => {
    expect(await needs(flowOf(3, { s0: 9 }))).toMatchObject({
      connections: 2 * (9 + 4 + 4),
      grouped: { connections: 2 * (9 + (2 + 3)) },
    })
  })

  test('is one function of four connections for a plain flow', async () => {
    const plain = { module: '_flows/mail.ts', exportName: 'mail', flowSlug: 'mail' }
    expect(await needsOf([plain], workerFunctionsOf([plain]))).toMatchObject({
      functions: 1,
      workers: 1,
      connections: 8,
    })
  })
})

describe('a warning', () => {
  test('is not given where all fits', async () => {
    expect(await localWarnings(await needs(flowOf(25)))).toEqual([])
    expect(functionWarnings(await needs(flowOf(100)))).toEqual([])
  })

  test('names the plan whose functions are too few, and what grouping makes of them', async () => {
    const grouping = 'With `npx starflow functions generate --grouped` it is 1.'
    expect(functionWarnings(await needs(flowOf(101)))).toEqual([
      `101 functions are more than 100, the most of the Free plan (Pro takes 500). ${grouping}`,
    ])
    expect(functionWarnings(await needs(flowOf(501)))).toEqual([
      `501 functions are more than 500, the most of the Pro plan. ${grouping}`,
    ])
  })

  test('tells the connections beside those that the database takes, with each way out that helps', async () => {
    const others = 'Other ways out: a lower maxPgConnections, or the transaction pooler (port 6543).'
    expect(await localWarnings(await needs(flowOf(150)))).toEqual([
      `The workers need up to 1,200 database connections, and the database of \`starflow dev\` takes 200. With \`npx starflow functions generate --grouped\` it is 14. ${others}`,
    ])
    expect(connectionWarnings(await needs(flowOf(150), true), 10, 'the database')).toEqual([
      `The workers need up to 14 database connections, and the database takes 10. ${others}`,
    ])
  })
})

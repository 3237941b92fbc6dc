import { setTimeout as sleep } from 'node:timers/promises'
import { Flow } from '@starflow/dsl'

/** Doubles each number of a list, a few milliseconds each, and counts them. */
export function countingFlow(onRun: (index: number) => void) {
  return new Flow<number[]>({ slug: 'counting' })
    .map({ slug: 'double' }, async (n, ctx) => {
      onRun(ctx.stepTask.task_index)
      await sleep(2)
      return n * 2
    })
    .step({ slug: 'count', dependsOn: ['double'] }, ({ double }) => ({
      count: double.length,
      sum: double.reduce((sum, n) => sum + n, 0),
    }))
}

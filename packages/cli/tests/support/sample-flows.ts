/**
 * A module of flows. Each handler that matters notes that it ran on a line of a file, so that it is known also of a process that was
 * killed.
 */
export const SAMPLE_FLOWS = String.raw`
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Flow, NonRetryableError, unchecked } from '@starflow/dsl'
import { z } from 'zod'

const ran = (what: string) => appendFileSync('ran.txt', what + '\n')

export const greet = new Flow({ slug: 'greet', input: z.object({ name: z.string() }) })
  .step({ slug: 'hello' }, ({ name }, ctx) => {
    ctx.logger.info('greeting somebody')
    return 'hello ' + name
  })
  .step({ slug: 'shout', dependsOn: ['hello'] }, ({ hello }) => hello.toUpperCase())

export const count = new Flow<number[]>({ slug: 'count' })
  .map({ slug: 'each' }, async (n, ctx) => {
    ran('each ' + ctx.stepTask.task_index)
    await sleep(20)
    return n * 2
  })
  .step({ slug: 'sum', dependsOn: ['each'] }, ({ each }) => each.reduce((sum, n) => sum + n, 0))

export const approval = new Flow<{ text: string }>({ slug: 'approval' })
  .step({ slug: 'draft' }, ({ text }) => {
    ran('draft')
    return text.toUpperCase()
  })
  .wait({ slug: 'approve', dependsOn: ['draft'], payload: unchecked<{ approved: boolean; by?: string }>() })
  .step({ slug: 'publish', dependsOn: ['draft', 'approve'] }, ({ draft, approve }) =>
    draft + (approve.approved ? ' released by ' + approve.by : ' rejected by ' + approve.by))

export const failing = new Flow({ slug: 'failing' })
  .step({ slug: 'begin' }, () => ran('begin'))
  .step({ slug: 'finish', dependsOn: ['begin'] }, () => {
    throw new NonRetryableError('it is broken')
  })

/** Goes on until its process ends, whoever asks. */
export const endless = new Flow({ slug: 'endless' }).step({ slug: 'work', timeout: 3600 }, async () => {
  ran('work')
  await sleep(3_600_000)
})
`

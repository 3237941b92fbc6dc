// EdgeWorker as a program in Node or Bun has it. It is told what to work on, and logs to its standard output; it ends with its
// standard input too, since the test's process may be gone without a word.

import { Flow } from '@starflow/dsl'
import { EdgeWorker } from '@starflow/edge-worker'
import { poisonFlow } from './poison-flow.ts'

const [kind, name = 'inNode'] = process.argv.slice(2)
process.stdin.on('end', () => process.exit(1)).resume()
// Nothing but the workers keeps this process.
process.stdin.unref()

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

if (kind === 'queue') {
  EdgeWorker.start<{ ms: number }>(
    async ({ ms }, ctx) => {
      ctx.logger.info('began')
      await sleep(ms)
    },
    { queueName: name },
  )
} else if (kind === 'poison') {
  EdgeWorker.start(poisonFlow(name))
} else {
  const flow = new Flow<{ ms: number }>({ slug: name, timeout: 60, baseDelay: 1 }).step(
    { slug: 'work' },
    async ({ ms }, ctx) => {
      ctx.logger.info('began')
      if (kind === 'failing once' && ctx.stepTask.attempt === 1) throw new Error('once')
      await sleep(ms)
      return 'done'
    },
  )
  EdgeWorker.start(flow, { onUnsupportedMessage: kind === 'halting' ? 'halt' : 'skip' })
}

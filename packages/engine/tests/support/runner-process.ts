// A runner in a process of its own, for tests that kill one. It says each handler that runs, and each event that matters,
// on a line. Its numbers are the real ones, unless it is told to be quick.

import { argv, exit, stdin } from 'node:process'
import { LocalWorkflowStateAdapter } from '../../src/adapters/local/index.ts'
import { Runner } from '../../src/runner/runner.ts'
import { countingFlow } from './counting-flow.ts'

const [path, pace] = argv.slice(2)
if (path === undefined) throw new Error('Usage: runner-process.ts PATH [quick]')

// The test's process may be gone without a word.
stdin.on('end', () => exit(1)).resume()

const quick = { leaseTtlMs: 1000, heartbeatIntervalMs: 300, sweepIntervalMs: 300, claimIntervalMs: 50 }
const runner = new Runner([countingFlow((index) => console.log(`ran ${index}`))], {
  adapter: await LocalWorkflowStateAdapter.open({ path }),
  ...(pace === 'quick' ? quick : {}),
  onEvent: (event) => {
    if (event.event === 'run.claimed' || event.event === 'run.ended' || event.event === 'run.swept') {
      console.log(`${event.event} ${event.runId}`)
    }
  },
})
await runner.start()
console.log('started')

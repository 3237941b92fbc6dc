// A runner in a process of its own, for tests that kill one. It says each handler that runs, and each event that matters,
// on a line. Its store is a SQLite file, or a Supabase project as JSON. Its numbers are the real ones, unless it is told
// to be quick.

import { argv, exit, stdin } from 'node:process'
import { LocalWorkflowStateAdapter } from '../../src/adapters/local/index.ts'
import { SupabaseWorkflowStateAdapter } from '../../src/adapters/supabase/index.ts'
import { Runner } from '../../src/runner/runner.ts'
import { countingFlow } from './counting-flow.ts'

const [store, pace] = argv.slice(2)
if (store === undefined) throw new Error('Usage: runner-process.ts PATH|PROJECT [quick]')

// The test's process may be gone without a word.
stdin.on('end', () => exit(1)).resume()

const quick = { leaseTtlMs: 5000, heartbeatIntervalMs: 500, sweepIntervalMs: 300, claimIntervalMs: 50 }
const runner = new Runner([countingFlow((index) => console.log(`ran ${index}`))], {
  adapter: store.startsWith('{')
    ? SupabaseWorkflowStateAdapter.open(JSON.parse(store))
    : await LocalWorkflowStateAdapter.open({ path: store }),
  ...(pace === 'quick' ? quick : {}),
  onEvent: (event) => {
    if (event.event === 'run.claimed' || event.event === 'run.ended' || event.event === 'run.swept') {
      console.log(`${event.event} ${event.runId}`)
    }
  },
})
await runner.start()
console.log('started')

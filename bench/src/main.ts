// npm run bench [-- --quick] [--json] [--only SCENARIO]… [--rounds N] [--seconds N]
import { parseArgs } from 'node:util'
import { installPeers } from './peers.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})

installPeers()
// Only now: these modules import the peers.
const { SCENARIOS } = await import('./scenarios/all.ts')
const { runBench } = await import('./run-bench.ts')

await runBench(SCENARIOS, options)

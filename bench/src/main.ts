import { cpus, loadavg, totalmem } from 'node:os'
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

void cpus
void loadavg
void totalmem
await runBench(SCENARIOS, options)

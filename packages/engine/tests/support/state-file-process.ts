// A process of its own that works on a state file, in Node or Deno, for tests that need several or kill one. It is told
// what to do, and says each thing on a line when it is durable.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { argv, exit, stdin } from 'node:process'
import { LocalWorkflowStateAdapter } from '../../src/adapters/local/index.ts'

const [task, path, definitionId = ''] = argv.slice(2)
if (path === undefined) throw new Error('Usage: state-file-process.ts TASK PATH [DEFINITION_ID]')

// The test's process may be gone without a word.
stdin.on('end', () => exit(1)).resume()

const adapter = await LocalWorkflowStateAdapter.open({ path })
const runnerId = randomUUID()
const ttlMs = 30_000
const start = { templateId: 'orders', workspaceId: 'acme', env: 'prod', input: null, definitionId: null }
console.log('open')

if (task === 'claim') {
  const claim = () => adapter.claimNextQueuedRun({ runnerId, leaseTtlMs: ttlMs, definitionIds: [definitionId] })
  // All begin at the same time: when the test says so. And again after one each, because the first that holds the file may
  // otherwise have claimed all before another one comes to it.
  for (const atMost of [1, Number.POSITIVE_INFINITY]) {
    await once(stdin, 'data')
    for (let count = 0; count < atMost; count++) {
      const claimed = await claim()
      if (claimed === null) break
      console.log(`claimed ${claimed.run.runId}`)
    }
  }
} else if (task === 'write') {
  const runId = randomUUID()
  await adapter.onRunStart(runId, start)
  const bound = adapter.bind(await adapter.writeLease(runId, runnerId, ttlMs))
  console.log(`run ${runId}`)
  for (let round = 0; ; round++) {
    // Four at a time share a commit, and the fifth comes behind it.
    const output = 'x'.repeat(5000)
    await Promise.all([0, 1, 2, 3].map((each) => bound.onNodeComplete(runId, `pack[${round * 4 + each}]`, output)))
    await bound.onVariableSet(runId, 'round', round)
    console.log(`accepted ${round}`)
  }
} else if (task === 'live') {
  const { runId } = await adapter.enqueueRun({ ...start, definitionId, runId: randomUUID() })
  const claimed = await adapter.claimNextQueuedRun({ runnerId, leaseTtlMs: ttlMs, definitionIds: [definitionId] })
  const bound = adapter.bind(claimed!.claim)
  await bound.onRunStart(runId, start)
  await bound.onNodeComplete(runId, 'pack', { weight: 3 })
  await bound.onRunComplete(runId, { output: 'sent', durationMs: 1 })
  await bound.clearLease(runId)
  console.log(`done ${runId}`)
}
await adapter.close()
exit(0)

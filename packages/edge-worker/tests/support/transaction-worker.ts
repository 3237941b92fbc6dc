// A worker of a transactional step in a process of its own, for tests that kill it.
import { workerFunctionOn } from './running-function.ts'
import { transactionalFlow } from './transactional-flow.ts'

const [databaseUrl, flowSlug] = process.argv.slice(2)
if (databaseUrl === undefined || flowSlug === undefined) throw new Error('Usage: transaction-worker.ts URL FLOW')

// The test's process may be gone without a word.
process.stdin.on('end', () => process.exit(1)).resume()
await workerFunctionOn(databaseUrl, transactionalFlow(flowSlug), { maxPgConnections: 2 }).ask()

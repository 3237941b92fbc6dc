// A worker in a process of its own, for tests that kill it. Its handler says through the database that it has begun,
// and then never ends.
import { Flow } from '@starflow/dsl'
import { workerFunctionOn } from './running-function.ts'

const [databaseUrl, flowSlug] = process.argv.slice(2)
if (databaseUrl === undefined || flowSlug === undefined) throw new Error('Usage: worker-process.ts URL FLOW')

const flow = new Flow({ slug: flowSlug, timeout: 5 }).step({ slug: 'work' }, async (_input, ctx) => {
  await ctx.sql`select pg_notify('handler_began', ${ctx.stepTask.run_id})`
  return new Promise<string>(() => {})
})

// The test's process may be gone without a word.
process.stdin.on('end', () => process.exit(1)).resume()
await workerFunctionOn(databaseUrl, flow).ask()

// A worker in a process of its own, whose handler keeps the thread for as long as its input says: nothing else runs there
// meanwhile, no timer and so no heartbeat.
import { Flow } from '@starflow/dsl'
import { workerFunctionOn } from './running-function.ts'

const [databaseUrl, flowSlug] = process.argv.slice(2)
if (databaseUrl === undefined || flowSlug === undefined) throw new Error('Usage: blocking-worker.ts URL FLOW')

const flow = new Flow<{ blockMs: number }>({ slug: flowSlug, timeout: 20 }).step(
  { slug: 'work' },
  async ({ blockMs }, ctx) => {
    await ctx.sql`insert into public.handled (run_id) values (${ctx.stepTask.run_id})`
    const until = Date.now() + blockMs
    while (Date.now() < until);
    return 'done'
  },
)

// The test's process may be gone without a word.
process.stdin.on('end', () => process.exit(1)).resume()
await workerFunctionOn(databaseUrl, flow, { functionName: 'blocking' }).ask()

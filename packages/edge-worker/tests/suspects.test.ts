import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { StarflowSql } from '@starflow/core'
import { afterEach, expect, test, vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { startDenoProgram } from './support/deno-program.ts'
import { startWorkerProgram } from './support/worker-program.ts'

vi.setConfig({ testTimeout: 300_000 })

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

async function startWorker(runtime: 'Node' | 'Deno', slug: string): Promise<ChildProcess> {
  if (runtime === 'Node') {
    const { child } = startWorkerProgram({ databaseUrl: url, kind: 'poison', name: slug })
    children.push(child)
    return child
  }
  const { child, ask } = await startDenoProgram(url, 'poison', slug)
  children.push(child)
  await ask()
  return child
}

/** As if the recovery boundary of all that the dead worker held had passed. */
async function recover(slug: string): Promise<void> {
  await sql`update pgflow.step_tasks set queued_at = queued_at - interval '1 hour', started_at = started_at - interval '1 hour'
    where flow_slug = ${slug} and status = 'started'`
  await sql`select pgmq.set_vt(queue_name, message_id, 0) from pgflow.step_tasks where flow_slug = ${slug} and status in ('queued', 'started')`
  await core.requeueStalledTasks()
}

test.each(['Node', 'Deno'] as const)(
  'a handler that ends its process in %s fails its own run, by name, and none of the 39 beside it',
  async (runtime) => {
    const slug = `exits${runtime}`
    const poisoned = 5
    let child = await startWorker(runtime, slug)
    await vi.waitFor(
      async () => expect(await sql`select from pgflow.steps where flow_slug = ${slug}`).toHaveLength(1),
      60_000,
    )
    const started = await core.startFlows(
      slug,
      Array.from({ length: 40 }, (_, index) => ({ kind: index === poisoned ? 'exit' : 'innocent', ms: 200 })),
    )
    const open = () => sql`select from pgflow.runs where flow_slug = ${slug} and status = 'started'`
    let crashes = 0
    for (;;) {
      const exit = child.exitCode === null ? once(child, 'exit') : Promise.resolve()
      const isOver = await Promise.race([
        exit.then(() => false),
        (async () => {
          while ((await open()).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
          return true
        })(),
      ])
      if (isOver) break
      crashes++
      await recover(slug)
      if ((await open()).length === 0) break
      child = await startWorker(runtime, slug)
    }
    // With others once, and then alone, twice.
    expect(crashes).toBe(3)
    const rows = await sql<{ run_id: string; status: string }[]>`
      select run_id, status from pgflow.runs where flow_slug = ${slug} and status <> 'completed'`
    expect(rows).toEqual([{ run_id: started[poisoned], status: 'failed' }])
    const [task] = await sql`select error_message from pgflow.step_tasks where run_id = ${started[poisoned]!}`
    expect(task!.error_message).toMatch(/Its worker vanished while it ran this task alone$/)
  },
)

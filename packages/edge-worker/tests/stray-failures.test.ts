import type { ChildProcess } from 'node:child_process'
import { StarflowSql } from '@starflow/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { startDenoProgram } from './support/deno-program.ts'
import type { Poison } from './support/poison-flow.ts'
import { startWorkerProgram } from './support/worker-program.ts'

vi.setConfig({ testTimeout: 300_000 })

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

interface Host {
  /** The first line of its log that says this. */
  logged(pattern: RegExp): Promise<string>
  readonly child: ChildProcess
}

async function host(runtime: 'Node' | 'Deno', slug: string): Promise<Host> {
  if (runtime === 'Deno') {
    const { child, ask, line } = await startDenoProgram(url, 'poison', slug)
    children.push(child)
    await ask()
    return { child, logged: line }
  }
  const program = startWorkerProgram({
    databaseUrl: url,
    kind: 'poison',
    name: slug,
    env: { STARFLOW_LOG_FORMAT: 'plain' },
  })
  children.push(program.child)
  await program.said('worker.started')
  const logged = async (pattern: RegExp) => {
    for (let count = 1; ; count++) {
      const line = await program.said('', count)
      if (pattern.test(line)) return line
    }
  }
  return { child: program.child, logged }
}

const start = (slug: string, kinds: readonly Poison[], ms = 100) =>
  core.startFlows(
    slug,
    kinds.map((kind) => ({ kind, ms })),
  )

/** Waits until the runs have ended, in whatever way. */
async function ends(runIds: readonly string[]): Promise<readonly string[]> {
  for (;;) {
    const rows = await sql<{ run_id: string; status: string }[]>`
      select run_id, status from pgflow.runs where run_id in ${sql([...runIds])} and status <> 'started'`
    const statusOf = new Map(rows.map(({ run_id, status }) => [run_id, status]))
    if (rows.length === runIds.length) return runIds.map((runId) => statusOf.get(runId)!)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const innocents = (count: number): Poison[] => Array(count).fill('innocent')
const attemptsOf = (runId: string) =>
  sql`select attempt, reason, error_name, error_message from pgflow.task_attempts where run_id = ${runId} order by attempt`

describe.each(['Node', 'Deno'] as const)('in %s', (runtime) => {
  test('a forgotten await fails its own run, by name, and none of the 39 beside it', async () => {
    const slug = `forgotten${runtime}`
    const { child } = await host(runtime, slug)
    const kinds = innocents(40)
    kinds[5] = 'forgotten'
    const runIds = await start(slug, kinds)
    expect(await ends(runIds)).toEqual(kinds.map((kind) => (kind === 'innocent' ? 'completed' : 'failed')))
    const failure = {
      reason: 'failed',
      error_name: 'StrayFailureError',
      error_message: expect.stringMatching(
        /^Something that step "work" started failed, .*: a forgotten await\. Hint: /,
      ),
    }
    expect(await attemptsOf(runIds[5]!)).toEqual([
      { attempt: 1, ...failure },
      { attempt: 2, ...failure },
    ])
    expect(
      await sql`select from pgflow.step_tasks where flow_slug = ${slug} and attempts_count > 1 and run_id <> ${runIds[5]!}`,
    ).toEqual([])
    expect(child.exitCode).toBeNull()
  })

  test('what an abort listener throws costs no other run anything', async () => {
    const slug = `listener${runtime}`
    const { child, logged } = await host(runtime, slug)
    const [poisoned, ...others] = await start(slug, ['listener', ...innocents(9)], 1500)
    await logged(/handler\.stray .*code=SF819/)
    expect(await ends(others)).toEqual(Array(9).fill('completed'))
    expect(await ends(await start(slug, innocents(9)))).toEqual(Array(9).fill('completed'))
    expect(await ends([poisoned!])).toEqual(['failed'])
    expect(child.exitCode).toBeNull()
  })

  test('what fails after its attempt has ended is logged, and the outcome stands', async () => {
    const slug = `late${runtime}`
    const { child, logged } = await host(runtime, slug)
    const runIds = await start(slug, ['late', ...innocents(9)])
    expect(await ends(runIds)).toEqual(Array(10).fill('completed'))
    expect(await logged(/handler\.stray/)).toMatch(/code=SF819 .*at=.*poison-flow\.ts:\d+.* failsAttempt=false/)
    expect(child.exitCode).toBeNull()
  })

  test('a timer that throws costs no other run anything', async () => {
    const slug = `timer${runtime}`
    const { child, logged } = await host(runtime, slug)
    const [poisoned, ...others] = await start(slug, ['timer', ...innocents(9)])
    expect(await ends(others)).toEqual(Array(9).fill('completed'))
    expect(await ends([poisoned!])).toEqual(['failed'])
    expect((await attemptsOf(poisoned!))[0]).toMatchObject({
      // Deno does not say of which handler the timer is: the attempt ends at its timeout.
      error_name: { Node: 'StrayFailureError', Deno: 'StepTimeoutError' }[runtime],
    })
    await logged({ Node: /handler\.stray/, Deno: /function\.stray .*message="a timer"/ }[runtime])
    expect(child.exitCode).toBeNull()
  })
})

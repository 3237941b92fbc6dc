import type { ChildProcess } from 'node:child_process'
import { StarflowSql } from '@starflow/core'
import { afterEach, describe, expect, test } from 'vitest'
import { startWorkerProgram, type WorkerProgramKind } from '../../packages/edge-worker/tests/support/worker-program.ts'
import { testDatabase } from '../../tests/support/test-database.ts'
import { BUN_BINARY } from '../support/programs.ts'

const { sql, url } = await testDatabase()
const core = new StarflowSql(sql)

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function startInBun(kind: WorkerProgramKind, name: string) {
  const program = startWorkerProgram({ databaseUrl: url, kind, name, runtime: [BUN_BINARY] })
  children.push(program.child)
  return program
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

const statusOf = async (runId: string) => (await sql`select status from pgflow.runs where run_id = ${runId}`)[0]?.status

describe('a worker in a Bun process', () => {
  test('starts by itself, is never pinged, tries again what failed, and runs a flow to its end', async () => {
    const worker = startInBun('failing once', 'inBun')
    await worker.said('worker.started')
    expect(await sql`select start_mode, enabled from pgflow.worker_functions where function_name = 'inBun'`).toEqual([
      { start_mode: 'process', enabled: true },
    ])
    const [runId] = await core.startFlows('inBun', [{ ms: 0 }])
    await until(async () => (await statusOf(runId!)) === 'completed')
    expect(await sql`select attempts_count, output from pgflow.step_tasks where run_id = ${runId!}`).toEqual([
      { attempts_count: 2, output: 'done' },
    ])
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toEqual({ code: 0, signal: null })
  })

  test('at SIGTERM finishes what is started, claims nothing more, and ends with 0', async () => {
    const worker = startInBun('flow', 'drainsInBun')
    await worker.said('worker.started')
    const [first] = await core.startFlows('drainsInBun', [{ ms: 1500 }])
    await worker.said('began')
    worker.child.kill('SIGTERM')
    await worker.said('worker.deprecated')
    const [second] = await core.startFlows('drainsInBun', [{ ms: 0 }])
    expect(await worker.ended).toEqual({ code: 0, signal: null })
    expect(await statusOf(first!)).toBe('completed')
    expect(await statusOf(second!)).toBe('started')
  })

  test('works a queue without a flow', async () => {
    await sql`select pgmq.create('bun_mails')`
    const worker = startInBun('queue', 'bun_mails')
    await worker.said('worker.started')
    await sql`select pgmq.send('bun_mails', '{"ms": 0}'::jsonb)`
    await until(async () => (await sql`select from pgmq.a_bun_mails`).length === 1)
    worker.child.kill('SIGINT')
    expect((await worker.ended).code).toBe(0)
  })
})

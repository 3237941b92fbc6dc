import { rmSync } from 'node:fs'
import { LocalWorkflowStateAdapter } from '@starflow/engine/adapters/local'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { SampleProject } from './support/sample-project.ts'
import { endStarflowProcesses, runStarflow, startStarflow } from './support/starflow-process.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Handlers that leave something behind, and one beside them that is done when a file is there. */
const FLOWS = `
import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Flow } from '@starflow/dsl'

export const timer = new Flow({ slug: 'timer', maxAttempts: 2, baseDelay: 0 }).step({ slug: 'late' }, async (_, ctx) => {
  const { attempt } = ctx.stepTask
  if (attempt > 1) return attempt
  setTimeout(() => { throw new Error('SECRET of a timer') }, 0)
  await once(ctx.signal, 'abort')
})

export const forgotten = new Flow({ slug: 'forgotten', maxAttempts: 1 }).step({ slug: 'left' }, () => {
  void sleep(10).then(() => { throw new Error('SECRET of a promise') })
  return 'done'
})

export const listener = new Flow({ slug: 'listener', maxAttempts: 1, timeout: 1 }).step({ slug: 'deaf' }, async (_, ctx) => {
  ctx.signal.addEventListener('abort', () => { throw new Error('SECRET of a listener') })
  await once(ctx.signal, 'abort')
  await sleep(60_000)
})

export const calm = new Flow({ slug: 'calm' }).step({ slug: 'wait' }, async () => {
  while (!existsSync('go.txt')) await sleep(20)
  return 'undisturbed'
})
`

const UNOWNED = `
import { setTimeout as sleep } from 'node:timers/promises'
import { Flow } from '@starflow/dsl'

let isBroken = false
setInterval(() => { if (isBroken) throw new Error('a client of the module') }, 5)
export const unowned = new Flow({ slug: 'unowned' }).step({ slug: 'work' }, async () => {
  isBroken = true
  await sleep(60_000)
})
`

const project = new SampleProject({
  'supabase/functions/_flows/flows.ts': FLOWS,
  'unowned.ts': UNOWNED,
})
afterEach(endStarflowProcesses)
afterAll(() => project.dispose())

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { stdout, lines } = await runStarflow(project.root, [...args, '--json'])
  if (stdout === '') throw new Error(lines.join('\n'))
  return JSON.parse(stdout) as Record<string, unknown>
}

const start = async (flow: string) => (await json('start', '--flow', flow)).runId as string

describe('what a handler leaves behind and nobody waits for', () => {
  test('fails the attempt that it is of, and the run goes on with the next one', async () => {
    const { exitCode, lines } = await runStarflow(project.root, ['run', '--flow', 'timer'])
    const said = lines.join('\n')
    expect(said).toMatch(/late: SF819 something that it started failed \(Error\) at .*flows\.ts:\d+/)
    expect(said).toContain('attempt 1 failed, again in 0 ms: Something that step "late" started failed')
    expect(said).toContain('"late": 2')
    expect(exitCode).toBe(0)
  })

  test.each(['runner', 'server'])(
    'costs a %s no other run, and its log says where it was, without what it said',
    async (command) => {
      rmSync(`${project.root}/go.txt`, { force: true })
      const env = { STARFLOW_API_TOKEN: 'the-operators-token-of-this-test', STARFLOW_PORT: '0' }
      const args = command === 'runner' ? ['runner', '--json'] : ['server']
      const host = startStarflow(project.root, args, { env })
      const [calm, ...strays] = await Promise.all(['calm', 'timer', 'forgotten', 'listener'].map(start))
      const log = { runner: 'event', server: 'msg' }[command]
      for (const runId of strays) {
        const line = await host.line(new RegExp(`(?=.*"${log}":"handler.stray")(?=.*${runId})`))
        expect(JSON.parse(line)).toMatchObject({
          ...{ code: 'SF819', errorName: 'Error', attempt: 1, hint: expect.stringContaining('Await') },
          at: expect.stringMatching(/flows\.ts:\d+/),
        })
        await host.line(new RegExp(`(?=.*"${log}":"run.ended")(?=.*${runId})`))
      }
      project.write('go.txt', '')
      await host.line(new RegExp(`(?=.*"${log}":"run.ended")(?=.*${calm})`))
      expect(host.lines.join('\n')).not.toContain('SECRET')
      host.child.kill('SIGTERM')
      expect(await host.ended).toBe(0)

      const adapter = await LocalWorkflowStateAdapter.open({ path: `${project.root}/.starflow/runs.db` })
      const runs = await Promise.all([calm!, ...strays].map((runId) => adapter.readRun(runId)))
      await adapter.close()
      expect(runs.map((run) => [run?.templateId, run?.status, run?.output])).toEqual([
        ['calm', 'success', { wait: 'undisturbed' }],
        ['timer', 'success', { late: 2 }],
        ['forgotten', 'success', { left: 'done' }],
        ['listener', 'error', null],
      ])
      expect(runs[3]?.error).toContain('did not end within its timeout')
    },
  )

  test('but what belongs to no handler ends the process, and says so', async () => {
    const { exitCode, lines } = await runStarflow(project.root, ['run', 'unowned.ts', '--memory'])
    expect(lines.join('\n')).toContain(
      'error SF819: Something failed in this process that belongs to no handler: Error: a client of the module',
    )
    expect(exitCode).toBe(1)
  })
})

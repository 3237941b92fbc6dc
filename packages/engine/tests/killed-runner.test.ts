import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { COMPILED } from '../../../tests/support/compiled.ts'
import { restGateway } from '../../../tests/support/rest-gateway.ts'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { LocalWorkflowStateAdapter } from '../src/adapters/local/index.ts'
import { SupabaseWorkflowStateAdapter } from '../src/adapters/supabase/index.ts'
import { LEASE_TTL_MS, SWEEP_INTERVAL_MS } from '../src/numbers.ts'
import type { QueueingStateAdapter } from '../src/state-adapter.ts'
import { countingFlow } from './support/counting-flow.ts'
import { type LineProcess, startLineProcess } from './support/line-process.ts'
import { enqueueFlow } from './support/queued-flow.ts'

/** A store that several processes share. */
interface SharedStore {
  readonly adapter: QueueingStateAdapter
  /** What a process opens it with. */
  readonly address: string
  close(): Promise<void>
}

const database = await testDatabase()
const gateway = await restGateway(database, ['public', 'starflow'])

const stores: readonly { readonly name: string; readonly open: () => Promise<SharedStore> }[] = [
  {
    name: 'SQLite',
    async open() {
      const folder = mkdtempSync(join(tmpdir(), 'starflow-killed-'))
      const address = join(folder, 'runs.db')
      const adapter = await LocalWorkflowStateAdapter.open({ path: address })
      return {
        ...{ adapter, address },
        close: async () => {
          await adapter.close()
          rmSync(folder, { recursive: true, force: true })
        },
      }
    },
  },
  {
    name: 'Supabase',
    async open() {
      const adapter = SupabaseWorkflowStateAdapter.open(gateway)
      return { adapter, address: JSON.stringify(gateway), close: () => adapter.close() }
    },
  },
]

let store: SharedStore
const processes: LineProcess[] = []

afterEach(async () => {
  for (const { child, ended } of processes.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
  await store.close()
})

function startRunner(pace?: 'quick'): LineProcess {
  const script = new URL('./support/runner-process.ts', import.meta.url).pathname
  const started = startLineProcess(process.execPath, [...COMPILED, script, store.address, ...(pace ? [pace] : [])])
  processes.push(started)
  return started
}

const ran = ({ lines }: LineProcess) => lines.flatMap((line) => /^ran (\d+)$/.exec(line)?.[1] ?? []).map(Number)

test.each(stores)(
  'on $name a map of 1 000 elements whose runner is killed in the middle resumes without repeating one',
  async ({ open }) => {
    store = await open()
    const { adapter } = store
    const input = Array.from({ length: 1000 }, (_, n) => n)
    const runId = await enqueueFlow(
      adapter,
      countingFlow(() => {}),
      input,
    )
    const victim = startRunner('quick')
    await victim.line(/^ran 500$/)
    victim.child.kill('SIGKILL')
    await victim.ended
    const completed = new Set(
      (await adapter.readEvents(runId))
        .filter(({ type }) => type === 'node_complete')
        .map(({ nodeId }) => Number(/\d+/.exec(nodeId!)![0])),
    )
    expect(completed.size).toBeGreaterThan(400)
    expect(completed.size).toBeLessThan(1000)

    const heir = startRunner('quick')
    await heir.line(/^run\.ended/)
    expect(ran(heir).sort((a, b) => a - b)).toEqual(input.filter((index) => !completed.has(index)))
    expect(await adapter.readRun(runId)).toMatchObject({
      ...{ status: 'success', claimAttempts: 2, output: { count: { count: 1000, sum: 999_000 } } },
    })
  },
)

test('with the real numbers, which sum up to 60 s, the run of a killed runner is claimed again', async () => {
  store = await stores[0]!.open()
  const { adapter } = store
  const runId = await enqueueFlow(
    adapter,
    countingFlow(() => {}),
    new Array<number>(100_000).fill(1),
  )
  const victim = startRunner()
  await victim.line(/^ran 20$/)
  const survivor = startRunner()
  await survivor.line(/^started$/)
  victim.child.kill('SIGKILL')
  expect(LEASE_TTL_MS + SWEEP_INTERVAL_MS).toBeLessThanOrEqual(60_000)
  await survivor.line(new RegExp(`^run.claimed ${runId}$`))
  const lost = (await adapter.readEvents(runId)).filter(({ type }) => type === 'runner_lost')
  expect(lost).toHaveLength(1)
})

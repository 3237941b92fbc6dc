import { expect, test } from 'vitest'
import { randomFrom } from '../../../../tests/support/random.ts'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { type Claim, EngineCalls } from '../support/engine-calls.ts'

const RUNS = 30
const RUNNERS = 6
const NODES = ['a', 'b', 'c', 'd', 'e']

const database = await testDatabase()
const engine = new EngineCalls(database.sql)

test('whatever runners and sweeps do at once, a run is written by one claim after the other and ends once', async () => {
  const definitionId = await engine.definition()
  const runIds = await Promise.all(Array.from({ length: RUNS }, () => engine.enqueue(definitionId)))
  let open = RUNS
  let refusals = 0

  /** Executes what is left of a run, as its log says. Often its lease is over meanwhile, and it goes on nevertheless. */
  async function execute(calls: EngineCalls, claim: Claim, random: () => number): Promise<void> {
    await calls.start(claim.run_id, claim as never)
    const history = await calls.history(claim.run_id)
    for (const node of NODES) {
      if (history.includes(`node_complete ${node}`)) continue
      if (random() < 0.15) {
        await database.sql`
          update starflow.workflow_runs set lease_until = now() - interval '1 second'
          where id = ${claim.run_id} and leased_by = ${claim.runner_id} and claim_attempts = ${claim.claim_attempts}`
      }
      if (random() < 0.1) {
        await calls.call('release_run', { ...claim, reason: 'drain' })
        return
      }
      await calls.call('on_node_complete', { ...claim, node_id: node, output: claim.claim_attempts })
    }
    await calls.call('on_run_complete', { ...claim, output: claim.claim_attempts, duration_ms: 1 })
    open--
    await calls.call('clear_lease', { ...claim })
  }

  async function runner(n: number): Promise<void> {
    const calls = new EngineCalls(database.connect())
    const random = randomFrom(n + 1)
    while (open > 0) {
      const claim = await calls.claim(`runner-${n}`, definitionId)
      if (claim === undefined) continue
      if (random() < 0.1) continue
      try {
        await execute(calls, claim, random)
      } catch (error) {
        expect(error).toMatchObject({ code: 'SF801' })
        refusals++
      }
    }
  }

  async function sweeper(): Promise<void> {
    const calls = new EngineCalls(database.connect())
    while (open > 0) {
      // Claims that nobody executes have no lease that ends by itself within this test.
      await calls.sql`
        update starflow.workflow_runs set lease_until = now() - interval '1 second' where claim_state = 'claimed' and random() < 0.1`
      await calls.sweep({ max_losses: 1000 })
    }
  }

  await Promise.all([...Array.from({ length: RUNNERS }, (_, n) => runner(n)), sweeper(), sweeper()])

  for (const runId of runIds) {
    const run = await engine.run(runId)
    expect(run).toMatchObject({ status: 'success', claim_state: 'complete' })
    let claims = 1
    const completed: string[] = []
    for (const { event_type, node_id, payload_json } of await engine.events(runId)) {
      if (event_type === 'runner_lost' || event_type === 'run_released') claims++
      if (event_type === 'node_complete') {
        expect((payload_json as { output: number }).output, `${runId} ${node_id}`).toBe(claims)
        completed.push(node_id!)
      }
    }
    expect(completed).toEqual(NODES)
    expect([run.claim_attempts, run.output]).toEqual([claims, claims])
  }
  expect(refusals, 'a runner that was late has been refused').toBeGreaterThan(0)
})

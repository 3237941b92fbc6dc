import type { AnyFlow } from '@starflow/dsl'
import { LocalWorkflowStateAdapter } from '../../src/adapters/local/index.ts'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { Engine, type EngineOptions } from '../../src/engine/engine.ts'
import { planFlow } from '../../src/engine/flow-plan.ts'
import { RunState } from '../../src/engine/run-state.ts'
import type { RunRecord } from '../../src/run-record.ts'
import { SWEEP, TTL_MS } from '../conformance/run-fixture.ts'
import { enqueueFlow } from '../support/queued-flow.ts'
import { waitHost } from '../support/waiting-flow.ts'
import { type Case, Schedule, waitAnswer, waitsOf } from './case.ts'
import { flowOf, type OnAttempt } from './case-flow.ts'
import { type Outcome, TIMED_OUT, Trace } from './outcome.ts'

/** The run of a case on the engine, one task at a time as its schedule says. */
export async function engineRun(store: EngineStore, one: Case): Promise<Outcome> {
  const run = await EngineRun.enqueue(store, one, (context) => run.noteAttempt(context))
  await run.followSchedule()
  return await run.outcome()
}

/** The same as the engine runs it by itself, many handlers at once. Waits are resumed before they open. */
export async function freeEngineRun(store: EngineStore, one: Case, onAttempt: OnAttempt): Promise<Outcome> {
  const run = await EngineRun.enqueue(store, one, onAttempt)
  await run.letGo()
  return await run.outcome()
}

/** SQLite in memory, whose time passes only when a run has nothing else to do, and then at once. */
export class EngineStore implements Clock {
  #nowMs = Date.UTC(2026, 0, 1)
  adapter!: LocalWorkflowStateAdapter

  static async open(): Promise<EngineStore> {
    const store = new EngineStore()
    store.adapter = await LocalWorkflowStateAdapter.open({ path: ':memory:', clock: () => store.now() })
    return store
  }

  now(): number {
    return this.#nowMs
  }

  /** One who sets a timer and does not take it back in this turn has nothing to do but wait. */
  after(ms: number, callback: () => void): () => void {
    const timer = setImmediate(() => {
      this.advanceTo(this.#nowMs + ms)
      callback()
    })
    return () => clearImmediate(timer)
  }

  advanceTo(ms: number): void {
    this.#nowMs = Math.max(this.#nowMs, ms)
  }
}

class EngineRun {
  readonly #store: EngineStore
  readonly #case: Case
  readonly #flow: AnyFlow
  readonly #runId: string
  readonly #trace: Trace
  #retries = 0

  private constructor(store: EngineStore, one: Case, flow: AnyFlow, runId: string) {
    this.#store = store
    this.#case = one
    this.#flow = flow
    this.#runId = runId
    this.#trace = new Trace(() => store.now() / 1000)
    this.#trace.begin()
  }

  static async enqueue(store: EngineStore, one: Case, onAttempt: OnAttempt): Promise<EngineRun> {
    const flow = flowOf(one, onAttempt)
    return new EngineRun(store, one, flow, await enqueueFlow(store.adapter, flow, one.input))
  }

  readonly noteAttempt: OnAttempt = ({ stepTask }) => {
    this.#trace.attempt(stepTask.step_slug, stepTask.task_index, stepTask.attempt)
  }

  async followSchedule(): Promise<void> {
    const { adapter } = this.#store
    const schedule = new Schedule(this.#case)
    const options = {
      runConcurrency: 1,
      pick: (tasks) => schedule.choose(tasks),
    } satisfies Partial<EngineOptions>
    for (;;) {
      await this.#execute(options)
      const run = await this.#record()
      if (run.status === 'error' && this.#retries < (this.#case.retries ?? 0)) {
        this.#retries++
        await adapter.retryRun(this.#runId)
        this.#trace.intervention('retried')
      } else if (run.completedAt !== null) return
      // Behind a delay it does not only wait: as on queues, what is due is done before anybody answers.
      else if (run.claimState === 'paused') await this.#answerWait(schedule)
      else this.#store.advanceTo(Date.parse(run.availableAt!))
    }
  }

  async letGo(): Promise<void> {
    for (const [slug, wait] of waitsOf(this.#case)) {
      const answer = waitAnswer(wait, 0)
      if (answer !== 'timeout') await this.#store.adapter.resumeWait(this.#runId, slug, answer.payload)
    }
    // Handlers take time here, so time may not jump.
    await this.#execute({ clock: systemClock })
  }

  async outcome(): Promise<Outcome> {
    const { adapter } = this.#store
    const run = await this.#record()
    const state = new RunState(planFlow(this.#flow), this.#case.input)
    for (const event of await adapter.readEvents(this.#runId, { limit: 10_000 })) {
      state.apply({ ...event, atMs: Date.parse(event.createdAt) })
    }
    const steps = state.snapshot()
    const refusal = steps.find(
      ({ slug, status, failure }) => status === 'failed' && isRootMap(this.#case, slug) && failure?.code === 'SF811',
    )
    if (refusal !== undefined) {
      return { status: 'refused', refusal: refusal.failure!.message, output: null, steps: {}, attempts: {}, trace: [] }
    }
    return {
      status: run.status === 'success' ? 'completed' : run.status === 'error' ? 'failed' : 'stuck',
      output: run.output,
      steps: Object.fromEntries(
        steps.map(({ slug, status, skipReason, output, failure }) => [
          slug,
          { status, skipReason, output, error: failure?.code === 'SF814' ? TIMED_OUT : (failure?.message ?? null) },
        ]),
      ),
      attempts: Object.fromEntries(
        steps
          .filter(({ slug }) => this.#case.steps[slug]!.kind !== 'wait')
          .flatMap(({ slug, attempts }) => attempts.map((count, index) => [`${slug}[${index}]`, count] as const))
          .filter(([, count]) => count > 0),
      ),
      trace: this.#trace.lines,
    }
  }

  async #execute(options: Partial<EngineOptions>): Promise<void> {
    const { adapter } = this.#store
    const engine = new Engine({ adapter, waitHost: waitHost(), clock: this.#store, ...options })
    const { definitionId } = await engine.serve(this.#flow)
    const claimed = await adapter.claimNextQueuedRun({
      ...{ runnerId: engine.runnerId, leaseTtlMs: TTL_MS, definitionIds: [definitionId] },
    })
    if (claimed?.run.runId !== this.#runId) throw new Error(`Claimed ${claimed?.run.runId} instead of ${this.#runId}.`)
    await (await engine.open(this.#flow, claimed)).execute()
  }

  async #answerWait(schedule: Schedule): Promise<void> {
    const { adapter } = this.#store
    const open = (await adapter.readWaits(this.#runId)).filter(({ status }) => status === 'open')
    const answers = this.#flow.stepOrder.flatMap((slug) =>
      open
        .filter(({ nodeId }) => nodeId === slug)
        .map(({ dueAt }) => ({ slug, dueAt, answer: waitAnswer(this.#case.steps[slug]!, this.#retries) })),
    )
    const answered = answers.filter(({ answer }) => answer !== 'timeout')
    if (answered.length > 0) {
      const { slug, answer } = schedule.choose(answered)
      if (answer === 'timeout') return
      const outcome = await adapter.resumeWait(this.#runId, slug, answer.payload)
      this.#trace.intervention(`${slug} resumed: ${outcome}`)
      return
    }
    const [next] = answers.sort((a, b) => Date.parse(a.dueAt!) - Date.parse(b.dueAt!))
    if (next === undefined) throw new Error('The run is paused, and no wait is open.')
    this.#store.advanceTo(Date.parse(next.dueAt!))
    await adapter.expireOldLeases(SWEEP)
    this.#trace.intervention(`${next.slug} timed out`)
  }

  async #record(): Promise<RunRecord> {
    const run = await this.#store.adapter.readRun(this.#runId)
    if (run === null) throw new Error(`Run ${this.#runId} is not kept.`)
    return run
  }
}

function isRootMap(one: Case, slug: string): boolean {
  const { kind, after = [] } = one.steps[slug]!
  return kind === 'map' && after.length === 0
}

import { extractFlowShape } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { WorkerEventBody } from './events.ts'
import { FlowRoutingMismatchError, FlowShapeMismatchError } from './flow-mismatch-error.ts'
import { DRAINING_LIMIT_MS, DRAINING_RETRY_MS } from './numbers.ts'
import type { FlowSubscription, StepSubscription } from './subscription.ts'
import type { WorkerSql } from './worker-sql.ts'

export interface CompileOptions {
  readonly sql: Pick<WorkerSql, 'ensureFlowCompiled'>
  readonly subscription: FlowSubscription | StepSubscription
  /** How old the loaded code is: old code must not compile its shape back over a newer one. */
  readonly codeAgeMs: () => number
  readonly emit: (event: WorkerEventBody) => void
  /** Rejects when the start is no longer wanted. */
  readonly sleep: (ms: number) => Promise<void>
}

/**
 * Compiles or verifies the flow of a worker and answers the worker's queue: what the database has, never what this code
 * derives.
 *
 * @throws FlowShapeMismatchError, FlowRoutingMismatchError, StarflowError SF405, SF111, SF001 for a flow with nothing to run
 */
export async function compileFlow(options: CompileOptions): Promise<string> {
  return queueOf(options.subscription, await compile(options))
}

type Compiled = Awaited<ReturnType<WorkerSql['ensureFlowCompiled']>>

async function compile({ sql, subscription, codeAgeMs, emit, sleep }: CompileOptions): Promise<Compiled['routes']> {
  const { flow, flowSlug } = subscription
  const shape = extractFlowShape(flow)
  for (let waitedMs = 0; ; waitedMs += DRAINING_RETRY_MS) {
    const compiled = await sql.ensureFlowCompiled({
      flowSlug,
      shape,
      queueMode: subscription.kind === 'step' ? 'step' : 'flow',
      routeMap: subscription.kind === 'step' ? subscription.routeMap : null,
      stepSlug: subscription.stepSlug,
      codeAgeMs: Math.round(codeAgeMs()),
    })
    const { status, mismatchKind, differences, options, routes } = compiled
    if (status === 'mismatch') {
      throw mismatchKind === 'routing'
        ? new FlowRoutingMismatchError(flowSlug, differences)
        : new FlowShapeMismatchError(flowSlug, differences)
    }
    if (status !== 'draining') {
      if (status !== 'verified') emit({ level: 'info', event: 'flow.compiled', status, differences })
      for (const message of options) emit({ level: 'info', event: 'flow.option', message })
      return routes
    }
    if (waitedMs >= DRAINING_LIMIT_MS) throw stillDraining(flowSlug)
    if (waitedMs === 0) emit({ level: 'info', event: 'flow.draining', waitedMs })
    await sleep(DRAINING_RETRY_MS)
  }
}

function queueOf(subscription: FlowSubscription | StepSubscription, routes: Compiled['routes']): string {
  const { flowSlug, stepSlug } = subscription
  const route = stepSlug === null ? routes[0] : routes.find((candidate) => candidate.stepSlug === stepSlug)
  if (route !== undefined) return route.queueName
  if (stepSlug === null) throw nothingToRun(flowSlug)
  throw new StarflowError({
    code: 'SF111',
    message: `The database has no queue for step "${stepSlug}" of flow "${flowSlug}".`,
    detail: `${routes.length} of its steps have one.`,
    hint: 'Compile the flow under a new concrete slug.',
    fields: { flowSlug, stepSlug },
  })
}

function nothingToRun(flowSlug: string): StarflowError {
  return new StarflowError({
    code: 'SF001',
    message: `Flow "${flowSlug}" has no step that a worker could run.`,
    detail: 'It has no steps at all, or only waits.',
    hint: 'Add a step, under a new concrete slug. A flow of waits alone needs no worker: it is compiled now, and its runs go on when they are resumed.',
    fields: { flowSlug },
  })
}

function stillDraining(flowSlug: string): StarflowError {
  return new StarflowError({
    code: 'SF405',
    message: `The workers of the old definition of flow "${flowSlug}" did not end within ${DRAINING_LIMIT_MS / 1000} s.`,
    detail: 'Compiling the new definition deletes the old runs, so it waits until nothing executes them.',
    hint: 'Wait for their handlers to end, or stop those workers; the next request tries again.',
    fields: { flowSlug },
  })
}

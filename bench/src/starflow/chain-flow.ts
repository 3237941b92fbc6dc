import { StarflowSql } from '@starflow/core'
import {
  type AnyFlow,
  extractFlowShape,
  Flow,
  isStepQueuedFlow,
  type StepQueuedFlow,
  withStepQueues,
} from '@starflow/dsl'
import type { Sql } from 'postgres'

/** What every run gets: an id that handlers tell by, and some bytes as real inputs have. */
export interface ChainInput {
  readonly key: string
  readonly body: string
}

export interface CompiledChain {
  readonly flowSlug: string
  /** In step order. `stepSlug` is null for the one queue of a plain flow. */
  readonly routes: readonly { readonly stepSlug: string | null; readonly queueName: string }[]
}

const BODY = 'y'.repeat(20)

export function chainInputs(first: number, count: number): { key: string; body: string }[] {
  return Array.from({ length: count }, (_, index) => ({ key: String(first + index), body: BODY }))
}

/** Step s0, then s1, and so on. One step is a plain flow with one queue; more have a private queue each. */
export async function compileChain(sql: Sql, steps: number): Promise<CompiledChain> {
  return await compile(sql, chainFlow(steps))
}

/** A map over the input, and one step that gathers it. */
export async function compileMap(sql: Sql): Promise<CompiledChain> {
  return await compile(
    sql,
    withStepQueues(
      new Flow<{ value: number; body: string }[]>({ slug: 'benchMap' })
        .map({ slug: 'fan' }, (element) => ({ value: element.value }))
        .step({ slug: 'join', dependsOn: ['fan'] }, ({ fan }) => ({ count: fan.length })),
    ),
  )
}

function chainFlow(steps: number): AnyFlow | StepQueuedFlow<AnyFlow> {
  let flow = new Flow<ChainInput>({ slug: 'benchChain' }).step({ slug: 's0' }, () => ({
    ok: true,
  })) as unknown as AnyFlow
  for (let index = 1; index < steps; index++) {
    flow = (flow as unknown as Extendable).step({ slug: `s${index}`, dependsOn: [`s${index - 1}`] }, () => ({
      ok: true,
    }))
  }
  return steps === 1 ? flow : withStepQueues(flow)
}

/** The chain's length is known at run time only, so its types are not. */
interface Extendable {
  step(options: { slug: string; dependsOn: string[] }, handler: () => unknown): AnyFlow
}

async function compile(sql: Sql, definition: AnyFlow | StepQueuedFlow<AnyFlow>): Promise<CompiledChain> {
  const isStepQueued = isStepQueuedFlow(definition)
  const flow = isStepQueued ? definition.flow : definition
  const { routes } = await new StarflowSql(sql).ensureFlowCompiled({
    flowSlug: flow.slug,
    shape: extractFlowShape(flow),
    queueMode: isStepQueued ? 'step' : 'flow',
    routeMap: isStepQueued ? definition.routes : null,
  })
  return {
    flowSlug: flow.slug,
    routes: isStepQueued
      ? routes.map(({ stepSlug, queueName }) => ({ stepSlug, queueName }))
      : [{ stepSlug: null, queueName: routes[0]!.queueName }],
  }
}

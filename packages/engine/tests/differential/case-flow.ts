import { type AnyFlow, Flow, type Json, NonRetryableError, RetryLater, type StandardSchemaV1 } from '@starflow/dsl'
import { type Behaviour, type Case, waitTimeout } from './case.ts'

export const SLUG = 'differential'

/** The part of the context that the handlers use. */
export interface CaseContext {
  readonly stepTask: { readonly step_slug: string; readonly task_index: number; readonly attempt: number }
  readonly flowInput: Promise<Json>
}

/** Hears of every call of a handler, and holds it up for as long as it likes. */
export type OnAttempt = (context: CaseContext) => Promise<void> | void

/** The parts of Flow that sketches use, without the types that only a written flow can have. */
interface UntypedFlow extends AnyFlow {
  step(options: object, handler: CaseHandler): UntypedFlow
  array(options: object, handler: CaseHandler): UntypedFlow
  map(options: object, handler: CaseHandler): UntypedFlow
  wait(options: object): UntypedFlow
}
type CaseHandler = (input: Json, context: CaseContext) => Promise<unknown>

/** The flow of a case. */
export function flowOf(one: Case, onAttempt: OnAttempt): AnyFlow {
  let flow = new Flow({
    slug: SLUG,
    ...one.options,
    ...(one.refusesInput && { input: REFUSING }),
  }) as unknown as UntypedFlow
  for (const [index, [slug, step]] of Object.entries(one.steps).entries()) {
    const { kind = 'step', after = [], answers: _, does = [], ...options } = step
    const place =
      kind === 'map'
        ? { slug, ...options, ...(after[0] && { array: after[0] }) }
        : { slug, ...options, dependsOn: after }
    if (kind === 'wait') flow = flow.wait({ ...place, timeout: waitTimeout(step, index) })
    else flow = flow[kind](place, handlerOf(does, onAttempt))
  }
  return flow
}

const REFUSING: StandardSchemaV1<Json> = {
  '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'nothing is right' }] }) },
}

function handlerOf(does: readonly Behaviour[], onAttempt: OnAttempt): CaseHandler {
  return async (input, context) => {
    await onAttempt(context)
    const { task_index: index, attempt } = context.stepTask
    const behaviour = does[index % does.length] ?? { gives: { value: null } }
    return await attemptOf(behaviour, attempt, input, context)
  }
}

async function attemptOf({ fails = [], gives }: Behaviour, attempt: number, input: Json, context: CaseContext) {
  const failure = fails[attempt - 1]
  if (failure !== undefined) {
    if ('throws' in failure) throw new Error(failure.throws)
    if ('givesUp' in failure) throw new NonRetryableError(failure.givesUp)
    if ('asksFor' in failure) throw new RetryLater({ delaySeconds: failure.asksFor ?? Number.NaN })
    return { bigint: 1n, nul: 'a\0b', function: () => {} }[failure.returns]
  }
  switch (gives) {
    case 'undefined':
      return undefined
    case 'input':
      return input
    case '[input]':
      return [input]
    case 'flow input':
      return await context.flowInput
    default:
      return gives.value
  }
}

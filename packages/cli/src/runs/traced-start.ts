import { isTraceparent, type Tracing } from '@starflow/tracing'
import { startTracing } from '@starflow/tracing/sdk'

/** Does work with the tracing that the environment asks for; what it has to say is sent before this settles. */
export async function withTracing<T>(work: (tracing: Tracing | undefined) => Promise<T>): Promise<T> {
  const started = await startTracing(process.env, 'starflow')
  try {
    return await work(started?.tracing)
  } finally {
    // A collector that is away is no failure of the command.
    await started?.shutdown().catch(() => {})
  }
}

/**
 * Starts a run within a span, which is given to `start`: what the run's steps do belongs to it. It is itself a part of the span in
 * `TRACEPARENT`, which a program may set for those it calls; without tracing the run belongs to that one.
 */
export async function startTraced<T extends { readonly runId: string }>(
  tracing: Tracing | undefined,
  run: { readonly flow: string; readonly placement: 'queue' | 'runner'; readonly workspace?: string },
  start: (traceparent: string | null) => Promise<T>,
): Promise<T> {
  const caller = process.env.TRACEPARENT
  if (tracing === undefined) return await start(isTraceparent(caller) ? caller : null)
  const { flow, placement, workspace } = run
  const attributes = { 'starflow.flow': flow, 'starflow.placement': placement, 'starflow.workspace': workspace }
  return await tracing.inSpan({ name: `start ${flow}`, kind: 'producer', parent: caller, attributes }, async (span) => {
    const started = await start(span.traceparent)
    span.set({ 'starflow.run_id': started.runId })
    return started
  })
}

import { trace } from '@opentelemetry/api'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { createClient } from '@supabase/supabase-js'
import { expect, test } from 'vitest'
import WebSocket from 'ws'
import { createStarflowClient } from '../src/index.ts'
import { clientPlatform } from './support/client-platform.ts'

const { facts, backstage } = await clientPlatform()
new NodeTracerProvider().register()

test('a run that is started within a span belongs to it, where supabase-js propagates traces', async () => {
  await backstage.compile('tracedV1', { a: {} })
  const started = async (tracePropagation: boolean) => {
    const supabase = createClient(facts.url, facts.serviceRoleKey, {
      tracePropagation,
      realtime: { transport: WebSocket as never },
    })
    const { runId } = await createStarflowClient(supabase).startFlow('tracedV1', {})
    await supabase.removeAllChannels()
    const [row] = (await backstage.sql(`select traceparent from pgflow.runs where run_id = '${runId}'`)) as {
      traceparent: string | null
    }[]
    return row!.traceparent
  }
  await trace.getTracer('of an application').startActiveSpan('order', async (span) => {
    const { traceId, spanId } = span.spanContext()
    expect(await started(true)).toBe(`00-${traceId}-${spanId}-01`)
    expect(await started(false)).toBeNull()
    span.end()
  })
  expect(await started(true)).toBeNull()
})

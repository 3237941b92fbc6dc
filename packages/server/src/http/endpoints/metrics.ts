import { z } from 'zod'
import type { DatabaseMetrics } from '../../metrics/database-metrics.ts'
import type { ProcessMetrics } from '../../metrics/process-metrics.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'

/** What `/metrics` tells, in two halves. */
export interface MetricsParts {
  readonly process: ProcessMetrics
  readonly database: DatabaseMetrics
}

/** What monitoring scrapes. */
export function metricsEndpoint(parts: MetricsParts): Endpoint {
  return endpoint({
    ...{ id: 'metrics', method: 'get', path: '/metrics', tag: 'Health', access: 'metrics' },
    summary: 'Tell the figures of this process and of its database, in the text format of Prometheus',
    description: 'docs/operations/metrics.md explains each.',
    answers: { 200: { description: 'The figures.', schema: z.string(), isText: true } },
    handle: async () => {
      const texts = await Promise.all([parts.process.text(), parts.database.text()])
      return new Response(texts.join('\n'), { headers: { 'content-type': parts.process.contentType } })
    },
  })
}

import type { QueueingStateAdapter } from '@starflow/engine'
import type { Authenticator } from '../auth/authenticator.ts'
import type { WorkerJobs } from '../jobs/worker-jobs.ts'
import type { LiveHints } from '../live/live-hints.ts'
import type { Mirror } from '../mirror/mirror.ts'
import type { Overview } from '../overview/overview.ts'
import type { FlowCatalog } from '../runs/flow-catalog.ts'
import type { QueueOperations } from '../runs/queue-operations.ts'
import type { RunDirectory } from '../runs/run-directory.ts'
import type { Declarations } from '../triggers/declarations.ts'
import type { WebhookReceiver } from '../triggers/webhook-receiver.ts'
import type { Endpoint } from './endpoint.ts'
import { bulkEndpoints } from './endpoints/bulk.ts'
import { flowEndpoints } from './endpoints/flows.ts'
import { type HealthParts, healthEndpoints } from './endpoints/health.ts'
import { liveEndpoints } from './endpoints/live.ts'
import { type MetricsParts, metricsEndpoint } from './endpoints/metrics.ts'
import { mirrorEndpoints } from './endpoints/mirror.ts'
import { overviewEndpoints } from './endpoints/overview.ts'
import { queueEndpoints } from './endpoints/queues.ts'
import { runValueEndpoints } from './endpoints/run-values.ts'
import { runnerEndpoints } from './endpoints/runners.ts'
import { runEndpoints } from './endpoints/runs.ts'
import { sessionEndpoints } from './endpoints/session.ts'
import { waitEndpoints } from './endpoints/waits.ts'
import { webhookEndpoints } from './endpoints/webhooks.ts'
import { workerJobEndpoints } from './endpoints/worker-jobs.ts'
import { openApiDocument, withDescription } from './openapi.ts'

/** What the endpoints of the whole API work with. */
export interface ApiParts {
  readonly health: HealthParts
  readonly metrics: MetricsParts
  readonly authenticator: Authenticator
  readonly defaultWorkspace: string
  readonly runs: RunDirectory
  readonly catalog: FlowCatalog
  readonly operations: QueueOperations | undefined
  readonly adapter: QueueingStateAdapter
  readonly webhooks: WebhookReceiver
  readonly workerJobs: WorkerJobs | undefined
  readonly mirror: Mirror | undefined
  readonly overview: Overview
  readonly hints: LiveHints
  /** What starflow.yaml has start by itself. */
  readonly triggers: Declarations['triggers']
  readonly version: string
}

/** Every endpoint that an edge serves, its own description among them. */
export function apiEndpoints(parts: ApiParts): readonly Endpoint[] {
  const { health, metrics, authenticator, defaultWorkspace, runs, catalog, operations, adapter } = parts
  const { webhooks, workerJobs, mirror, overview, hints, triggers, version } = parts
  return withDescription(
    [
      ...runEndpoints(runs),
      ...runValueEndpoints(runs),
      ...bulkEndpoints(runs),
      ...waitEndpoints(runs),
      ...webhookEndpoints(webhooks),
      ...flowEndpoints(catalog, operations, triggers),
      ...queueEndpoints(operations),
      ...runnerEndpoints(adapter),
      ...overviewEndpoints(overview),
      ...mirrorEndpoints(mirror, runs),
      ...liveEndpoints(hints, runs),
      ...workerJobEndpoints(workerJobs),
      ...sessionEndpoints(authenticator, defaultWorkspace),
      ...healthEndpoints(health),
      metricsEndpoint(metrics),
    ],
    version,
  )
}

/** What a process without the API serves; metrics only where it has a token for them. */
export function healthOnlyEndpoints(health: HealthParts, metrics: MetricsParts | undefined): readonly Endpoint[] {
  return [...healthEndpoints(health), ...(metrics === undefined ? [] : [metricsEndpoint(metrics)])]
}

/** The description of the API without a server, for the reference. */
export function describeApi(version: string) {
  // The casts: an endpoint looks at its parts when it is called, and here none is.
  const nothing = {} as never
  const parts = {
    health: nothing,
    metrics: nothing,
    authenticator: nothing,
    defaultWorkspace: '',
    runs: nothing,
    catalog: nothing,
    adapter: nothing,
    webhooks: nothing,
    overview: nothing,
    hints: nothing,
    triggers: {},
  }
  return openApiDocument(
    apiEndpoints({ ...parts, operations: undefined, workerJobs: undefined, mirror: undefined, version }),
    version,
  )
}

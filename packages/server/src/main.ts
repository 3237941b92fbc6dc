import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dashboardFiles } from '@starflow/dashboard'
import type { AnyFlow } from '@starflow/dsl'
import {
  Engine,
  LeaseSweep,
  type QueueingStateAdapter,
  Runner,
  type RunnerEvent,
  type RunnerOptions,
} from '@starflow/engine'
import type { Tracing } from '@starflow/tracing'
import { type StartedTracing, startTracing } from '@starflow/tracing/sdk'
import { type OpenStorage, openStorage } from './adapters/open-storage.ts'
import { AlertWatch } from './alerts/alert-watch.ts'
import { Authenticator } from './auth/authenticator.ts'
import { GuessLimit } from './auth/guess-limit.ts'
import { MetricsAuthenticator } from './auth/metrics-authenticator.ts'
import { readConfig, type ServerConfig } from './config.ts'
import { apiEndpoints, healthOnlyEndpoints } from './http/api.ts'
import { createApp } from './http/app.ts'
import { serveDashboard } from './http/dashboard.ts'
import type { HealthParts, ProcessIdentity } from './http/endpoints/health.ts'
import type { MetricsParts } from './http/endpoints/metrics.ts'
import { listen } from './http/listener.ts'
import { LiveHints } from './live/live-hints.ts'
import { createLog, errorFields, type ServerLog, saidOnceInAWhile } from './log.ts'
import { DatabaseMetrics } from './metrics/database-metrics.ts'
import { ProcessMetrics } from './metrics/process-metrics.ts'
import { createMirror, type Mirror } from './mirror/mirror.ts'
import { mirrorAlerts } from './mirror/mirror-alerts.ts'
import { RUNNER_CONCURRENCY } from './numbers.ts'
import { Overview } from './overview/overview.ts'
import { Readiness } from './readiness.ts'
import { ROLES } from './roles.ts'
import { logRunnerEvent } from './runner-log.ts'
import { FlowCatalog } from './runs/flow-catalog.ts'
import { RunDirectory } from './runs/run-directory.ts'
import { RunnerPlacement } from './runs/runner-placement.ts'
import { type ServedFlows, serveFlows } from './runs/served-flows.ts'
import { StarflowServer } from './server.ts'
import { type Service, ServiceGroup } from './service.ts'
import { type Declarations, NO_DECLARATIONS } from './triggers/declarations.ts'
import { FiringStarter } from './triggers/firing-starter.ts'
import { loadDeclarations } from './triggers/load-declarations.ts'
import { Scheduler } from './triggers/scheduler.ts'
import { WebhookReceiver, type WebhookReceiverOptions } from './triggers/webhook-receiver.ts'
import { createWaitHost, type WaitListener } from './wait-host.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface ServerOptions {
  readonly flows: readonly AnyFlow[]
  /** Default: the environment of the process. */
  readonly env?: Env
  /** What else goes on in the background of this process, started in order. */
  readonly services?: readonly Service[]
  /** Who is told of waits that open. */
  readonly waitListeners?: readonly WaitListener[]
  /** False: starflow.yaml is not read, and nothing starts by itself. Default: it is, as far as it is of the role. */
  readonly hasTriggers?: boolean
  /**
   * What handlers get besides, opened where the role executes any, once it is known which database it is; closed with the server.
   * Default: nothing.
   */
  readonly openResources?: (database: {
    readonly databaseId: string
    readonly url: string
  }) => Promise<HandlerResources>
  /** Holds every answer against the description of the API; for tests. */
  readonly checkAnswers?: boolean
  /** Default: JSON lines on standard output. */
  readonly log?: ServerLog
}

/** What handlers get besides the state of their run. */
export interface HandlerResources extends Pick<RunnerOptions, 'lendSql' | 'supabase'> {
  close(): Promise<void>
}

/** A server that has started. */
export interface RunningServer {
  readonly url: string
  readonly identity: ProcessIdentity
  /**
   * The address of the dashboard that signs the operator in: once, and soon. For the eyes of whoever started this process.
   * Undefined where the role serves no dashboard.
   */
  signInLink(): string | undefined
  /** See {@link StarflowServer.drain}. */
  drain(): Promise<void>
}

/**
 * Starts a process of Starflow by its environment: the composition root, the only place where concrete adapters are put
 * together. When it fails nothing is left open.
 *
 * @throws StarflowError SF901 for the configuration, SF920 for starflow.yaml, SF951 for tracing, and what storage, port and flows are refused with
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const env = options.env ?? process.env
  const config = readConfig(env)
  const log = options.log ?? createLog({ level: config.logLevel, serviceId: config.serviceId, role: config.role })
  const storage = await openStorage(config.storage, config.serviceId)
  let traced: StartedTracing | undefined
  try {
    traced = await startTracing(env, config.serviceId)
    const declarations =
      options.hasTriggers === false
        ? NO_DECLARATIONS
        : await loadDeclarations(config.declarationsFile, {
            flows: options.flows,
            compiledFlows: ((await storage.queues?.operations.compiledFlows()) ?? []).map(({ flow }) => flow),
            env: ROLES[config.role].webhooks ? env : undefined,
          })
    return await compose(config, declarations, storage, { ...options, env }, log, traced)
  } catch (error) {
    await traced?.shutdown().catch(() => {})
    await storage.close()
    throw error
  }
}

async function compose(
  config: ServerConfig,
  declarations: Declarations,
  storage: OpenStorage,
  options: ServerOptions & { readonly env: Env },
  log: ServerLog,
  traced: StartedTracing | undefined,
): Promise<RunningServer> {
  const role = ROLES[config.role]
  const { store, queues, databaseId } = storage
  const tracing = traced?.tracing
  const { adapter, mirror } = await openMirror(config, storage, log)
  const runnerId = `${config.serviceId}-${randomUUID().slice(0, 8)}`
  const waitHost = createWaitHost(config.waitTokenKeys, options.waitListeners ?? [], log)
  const served = await serveFlows(options.flows, new Engine({ adapter, waitHost, runnerId }))
  for (const [flow, { code, message, hint }] of served.refusals) {
    log.warn({ flow, code, reason: message, hint }, 'runners cannot execute this flow')
  }
  const concurrency = config.concurrency ?? concurrencyOf(declarations, config.runnerPool)
  const readiness = new Readiness()
  const processMetrics = new ProcessMetrics({
    ...{ version: version(), role: config.role, service: config.serviceId, isReady: () => readiness.state === 'ready' },
    runner: role.claimLoop ? { activeRuns: () => runner?.activeRuns ?? 0, concurrency } : undefined,
  })
  const onRunnerEvent = (event: RunnerEvent) => {
    logRunnerEvent(log, event)
    processMetrics.onRunnerEvent(event)
  }
  const resources = role.claimLoop ? await openResources(config, databaseId, options) : undefined
  const runner = role.claimLoop
    ? createRunner({ ...config, concurrency }, served, {
        ...{ adapter, waitHost, runnerId, tracing, onEvent: onRunnerEvent },
        ...{ lendSql: resources?.lendSql, supabase: resources?.supabase },
      })
    : undefined

  const streams = new AbortController()
  const identity: ProcessIdentity = {
    ...{ role: config.role, serviceId: config.serviceId, heartbeatWorkspace: config.heartbeatWorkspace },
    ...{ substrate: adapter.substrate, databaseId, version: version() },
    ...{ runnerId: runner?.runnerId, runnerPool: config.runnerPool },
  }
  const health: HealthParts = {
    ...{ identity, readiness, activeRuns: () => runner?.activeRuns ?? 0 },
    probe: () => storage.probe(),
    isClaiming: runner && (() => runner.isReady),
  }
  const { apiToken, metricsToken } = config
  const guesses = new GuessLimit(Date.now)
  const authenticator =
    apiToken === undefined ? undefined : new Authenticator({ apiToken, store, guesses, now: Date.now })
  const metricsTokens = [metricsToken, apiToken].flatMap((token) => token ?? [])
  const metrics: MetricsParts = { process: processMetrics, database: new DatabaseMetrics(storage.metrics) }
  const catalog = new FlowCatalog(options.flows)
  const runs = createRuns(config, storage, catalog, served, tracing)
  const triggers = createTriggers(config, declarations, storage, { runs, catalog, env: options.env, log })
  const app = createApp({
    endpoints:
      authenticator === undefined
        ? healthOnlyEndpoints(health, metricsTokens.length === 0 ? undefined : metrics)
        : apiEndpoints({
            ...{ health, metrics, authenticator, runs, catalog, adapter, version: identity.version },
            ...{ overview: createOverview(storage, mirror), hints: createHints(storage, log) },
            ...{ triggers: declarations.triggers, defaultWorkspace: config.defaultWorkspace },
            ...{ operations: queues?.operations, webhooks: triggers.receiver, workerJobs: storage.workerJobs, mirror },
          }),
    ...{ log, tracing, authenticator, trustedProxies: config.trustedProxies, stopped: streams.signal },
    metricsAuthenticator: new MetricsAuthenticator(metricsTokens, guesses),
    onAnswered: (endpoint, status, seconds) => processMetrics.onAnswered(endpoint, status, seconds),
    checkAnswers: options.checkAnswers ?? false,
  })
  const { dashboardDir } = config
  if (role.http === 'full') serveDashboard(app, async () => dashboardDir ?? (await dashboardFiles()))

  // A runner sweeps by itself; without one somebody else has to find due waits and lost runners.
  const services = [
    ...(runner === undefined ? [createSweep(adapter, log)] : []),
    ...triggers.services,
    ...createAlerts(config, declarations, storage, options.env, log),
    ...(mirror?.services ?? []),
    ...(options.services ?? []),
  ]
  const server = new StarflowServer({
    ...{ readiness, runner, log, drainTimeoutMs: config.drainTimeoutMs, drainNoticeMs: config.drainNoticeMs },
    services: new ServiceGroup(services, (name, error) =>
      log.error({ ...errorFields(error), serviceName: name }, 'a service failed to stop'),
    ),
    listen: () => listen(app, config.host, config.port),
    stopStreams: () => streams.abort(),
    closeStorage: async () => {
      await resources?.close()
      await storage.close()
      await traced?.shutdown().catch((error: unknown) => log.warn(errorFields(error), 'the last spans were not sent'))
    },
  })
  try {
    await server.start()
  } catch (error) {
    await resources?.close()
    throw error
  }
  const { url } = server
  log.info(
    { url, databaseId, substrate: adapter.substrate, flows: served.flows.length, queues: queues !== undefined },
    'started',
  )
  // Behind the #, so that it reaches the page and no log of a server.
  const signInLink = () => authenticator && `${url}/sign-in#code=${authenticator.signInCodes.issue()}`
  return { url, identity, signInLink, drain: () => server.drain() }
}

/** A handler reaches the database of its runs, where the environment names the way. */
async function openResources(
  { storage }: ServerConfig,
  databaseId: string,
  { openResources }: ServerOptions,
): Promise<HandlerResources | undefined> {
  if (storage.substrate !== 'supabase' || storage.databaseUrl === undefined) return undefined
  return await openResources?.({ databaseId, url: storage.databaseUrl })
}

type RunnerConfig = Pick<ServerConfig, 'runnerPool' | 'heartbeatWorkspace'> & { readonly concurrency: number }

function createRunner(
  { concurrency, runnerPool, heartbeatWorkspace }: RunnerConfig,
  served: ServedFlows,
  parts: Pick<RunnerOptions, 'adapter' | 'waitHost' | 'tracing' | 'onEvent' | 'lendSql' | 'supabase'> & {
    readonly runnerId: string
  },
): Runner {
  return new Runner(served.flows, {
    ...parts,
    concurrency,
    workspaceId: heartbeatWorkspace,
    refusedFlows: Object.fromEntries([...served.refusals].map(([flow, { message }]) => [flow, message])),
    ...(runnerPool === undefined ? {} : { runnerPool }),
  })
}

/** Queue first: that is the default of a flow that is compiled. */
function createRuns(
  { waitTokenKeys }: ServerConfig,
  { adapter, queues }: OpenStorage,
  flows: FlowCatalog,
  served: ServedFlows,
  tracing: Tracing | undefined,
): RunDirectory {
  const runner = new RunnerPlacement({ adapter, flows, served, waitTokenKeys, now: Date.now })
  return new RunDirectory(queues === undefined ? [runner] : [queues.placement, runner], flows, tracing)
}

function createOverview({ statistics, queues, adapter }: OpenStorage, mirror: Mirror | undefined): Overview {
  return new Overview({ statistics, operations: queues?.operations, adapter, measureLag: mirror?.measureLag })
}

function createHints({ liveMarks }: OpenStorage, log: ServerLog): LiveHints {
  const onFailure = (error: unknown) => log.warn(errorFields(error), 'live.look_failed')
  return new LiveHints({ source: liveMarks, onFailure })
}

/** What starts runs by itself, as far as it is of the role. */
function createTriggers(
  config: ServerConfig,
  { triggers, webhooks }: Declarations,
  { triggers: store }: OpenStorage,
  parts: Pick<WebhookReceiverOptions, 'env' | 'log'> & { readonly runs: RunDirectory; readonly catalog: FlowCatalog },
): { readonly receiver: WebhookReceiver; readonly services: readonly Service[] } {
  const { runs, catalog, env, log } = parts
  const role = ROLES[config.role]
  const isDeclared = Object.keys(triggers).length + Object.keys(webhooks).length > 0
  const starter = new FiringStarter({ store, runs, log })
  const shared = { workspaceId: config.defaultWorkspace, store, runs, starter, log }
  const receiver = new WebhookReceiver({ ...shared, webhooks, env, flows: catalog, now: Date.now })
  return {
    receiver,
    // Webhooks too need whoever starts what an edge left behind.
    services: role.cron && isDeclared ? [new Scheduler({ ...shared, triggers })] : [],
  }
}

/** Whoever fires schedules looks for problems too: both are done for the whole database, by whichever edge comes first. */
function createAlerts(
  { role }: ServerConfig,
  { alerts }: Declarations,
  { alerts: store, databaseId }: OpenStorage,
  env: Env,
  log: ServerLog,
): readonly Service[] {
  if (alerts === undefined || !ROLES[role].cron) return []
  return [new AlertWatch({ alerts, store, databaseId, env, log, now: Date.now })]
}

/** The adapter that runs are written through, and the mirror that this process helps to keep. */
async function openMirror(
  { isMirrored, mirrorAlertUrl }: ServerConfig,
  { adapter, tiers }: OpenStorage,
  log: ServerLog,
): Promise<{ readonly adapter: QueueingStateAdapter; readonly mirror: Mirror | undefined }> {
  if (!isMirrored || tiers === undefined) return { adapter, mirror: undefined }
  const onProgressFailure = saidOnceInAWhile(
    (error, times) => log.warn({ ...errorFields(error), times }, 'mirror.progress_failed'),
    () => performance.now(),
  )
  return {
    adapter: await tiers.openMirroring(onProgressFailure),
    mirror: createMirror(tiers, mirrorAlerts(log, mirrorAlertUrl)),
  }
}

function createSweep(adapter: QueueingStateAdapter, log: ServerLog): Service {
  const sweep = new LeaseSweep({
    adapter,
    onSwept: (runs) => {
      for (const { runId, outcome } of runs) log.info({ runId, outcome }, 'run.swept')
    },
    onFailure: (error) => log.warn(errorFields(error), 'sweep.failed'),
  })
  return { name: 'lease sweep', start: () => sweep.start(), stop: () => sweep.stop() }
}

function concurrencyOf({ pools }: Declarations, pool: string | undefined): number {
  return (pool === undefined ? undefined : pools[pool]?.concurrency) ?? RUNNER_CONCURRENCY
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

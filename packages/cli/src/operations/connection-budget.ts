import type { Sql } from '@starflow/core'
import { evaluateProject } from '../functions/generation.ts'
import { heldConnections } from '../functions/project-needs.ts'
import type { Project } from '../project/project.ts'

/** How many connections the workers of each queue may have. */
export interface ConnectionSettings {
  readonly byQueue: ReadonlyMap<string, number>
  /** Of queues that are not known. */
  readonly otherwise: number
  /** Where the numbers are from, for a person. */
  readonly source: string
}

export interface ConnectionLimits {
  readonly max: number
  /** Kept by Postgres for superusers. */
  readonly reserved: number
}

/** Connections that all enabled workers may hold at once. */
export interface ConnectionBudget extends ConnectionLimits {
  readonly functions: number
  readonly workers: number
  readonly connections: number
  /** The queues whose settings are not known. */
  readonly assumed: readonly string[]
}

/**
 * What the flow modules of a project set as `maxPgConnections`. Without a project, and where its modules cannot be evaluated,
 * the default of a worker is assumed.
 */
export async function readConnectionSettings(project: Project): Promise<ConnectionSettings> {
  const { DEFAULT_MAX_PG_CONNECTIONS } = await import('@starflow/edge-worker')
  const assumed = (why: string) => ({
    byQueue: new Map<string, number>(),
    otherwise: DEFAULT_MAX_PG_CONNECTIONS,
    source: `${why}: ${DEFAULT_MAX_PG_CONNECTIONS} connections a worker are assumed, the default`,
  })
  try {
    const { flows } = await evaluateProject(project)
    if (flows.length === 0) return assumed('There are no flows in this folder')
    const settings = flows.flatMap(({ flowSlug, routes, workers }) =>
      routes === undefined
        ? [[flowSlug.toLowerCase(), DEFAULT_MAX_PG_CONNECTIONS] as const]
        : routes.map(
            ({ queueName, stepSlug }) =>
              [queueName, workers?.connections[stepSlug] ?? DEFAULT_MAX_PG_CONNECTIONS] as const,
          ),
    )
    const source = "As the settings of this project's workers say"
    return { byQueue: new Map(settings), otherwise: DEFAULT_MAX_PG_CONNECTIONS, source }
  } catch (error) {
    return assumed(`The flow modules could not be evaluated (${(error as Error).message})`)
  }
}

/** Every worker has as many, whatever a project says. */
export function sameForAll(connections: number): ConnectionSettings {
  return { byQueue: new Map(), otherwise: connections, source: 'As --connections says' }
}

/** What the workers of the enabled functions may hold, by the queues that these have served. */
export async function readConnectionBudget(sql: Sql, settings: ConnectionSettings): Promise<ConnectionBudget> {
  const workers = await sql<{ functionName: string; queueName: string | null }[]>`
    select f.function_name as "functionName", q.queue_name as "queueName"
    from pgflow.worker_functions f left join pgflow.worker_function_queues q using (function_name)
    where f.enabled order by 1, 2`
  const limits = await readConnectionLimits(sql)
  const functions = new Map<string, number[]>()
  const assumed = new Set<string>()
  for (const { functionName, queueName } of workers) {
    // A function that has never started a worker is most likely named like its queue, with the number of the instance.
    const queue = queueName ?? functionName.replace(/-\d+$/, '')
    const setting = settings.byQueue.get(queue)
    if (setting === undefined) assumed.add(queue)
    functions.set(functionName, [...(functions.get(functionName) ?? []), setting ?? settings.otherwise])
  }
  return {
    functions: functions.size,
    workers: workers.length,
    connections: await heldConnections(functions.values()),
    assumed: settings.byQueue.size === 0 ? [] : [...assumed],
    ...limits,
  }
}

/** How many connections a database takes. */
export async function readConnectionLimits(sql: Sql): Promise<ConnectionLimits> {
  const [limits] = await sql<[ConnectionLimits]>`
    select current_setting('max_connections')::integer as max,
           current_setting('superuser_reserved_connections')::integer as reserved`
  return limits
}

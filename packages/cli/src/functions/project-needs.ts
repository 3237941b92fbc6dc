import { formatCount } from '../output/text-table.ts'
import type { ExportedFlow } from './flow-modules.ts'
import { type WorkerFunction, workerFunctionsOf } from './worker-functions.ts'

/** What worker functions take up: of a plan's functions and of a database's connections. */
export interface Needs {
  readonly functions: number
  readonly workers: number
  /** Database connections at most: twice what they hold, since a worker that is replaced finishes beside its successor. */
  readonly connections: number
}

export interface ProjectNeeds extends Needs {
  /** What the same flows need with one function for each flow. */
  readonly grouped: Needs
}

/** Edge functions that a hosted project may have, by plan (docs/operations/limits.md). */
const MOST_FUNCTIONS = { Free: 100, Pro: 500 } as const

/** What these worker functions of some flows need. */
export async function needsOf(
  flows: readonly ExportedFlow[],
  functions: readonly WorkerFunction[],
): Promise<ProjectNeeds> {
  return { ...(await sum(functions)), grouped: await sum(workerFunctionsOf(flows, () => true)) }
}

/** Connections that functions hold, each given as the `maxPgConnections` of its workers: those that are alike share theirs. */
export async function heldConnections(functions: Iterable<readonly number[]>): Promise<number> {
  const { connectionsOf } = await import('@starflow/edge-worker')
  let held = 0
  for (const workers of functions) {
    for (const setting of new Set(workers)) {
      held += connectionsOf(workers.filter((each) => each === setting).length, setting)
    }
  }
  return held
}

/** A sentence where there are more functions than a plan takes, with the way out. */
export function functionWarnings({ functions, grouped }: ProjectNeeds): string[] {
  if (functions <= MOST_FUNCTIONS.Free) return []
  const limit =
    functions > MOST_FUNCTIONS.Pro
      ? `${MOST_FUNCTIONS.Pro}, the most of the Pro plan`
      : `${MOST_FUNCTIONS.Free}, the most of the Free plan (Pro takes ${MOST_FUNCTIONS.Pro})`
  const sentence = `${formatCount(functions)} functions are more than ${limit}.`
  return [[sentence, ...withGrouped(grouped.functions, functions)].join(' ')]
}

/** A sentence where a database takes fewer connections than the workers may need, with the ways out. */
export function connectionWarnings({ connections, grouped }: ProjectNeeds, most: number, database: string): string[] {
  if (connections <= most) return []
  const sentences = [
    `The workers need up to ${formatCount(connections)} database connections, and ${database} takes ${most}.`,
    ...withGrouped(grouped.connections, connections),
    'Other ways out: a lower maxPgConnections, or the transaction pooler (port 6543).',
  ]
  return [sentences.join(' ')]
}

/** The same for the database of `starflow dev`. */
export async function localWarnings(needs: ProjectNeeds): Promise<string[]> {
  // Only here: the whole local platform comes with it.
  const { LOCAL_MAX_CONNECTIONS } = await import('@starflow/local')
  return connectionWarnings(needs, LOCAL_MAX_CONNECTIONS, 'the database of `starflow dev`')
}

/** Nothing where grouping would change nothing. */
function withGrouped(grouped: number, now: number): string[] {
  return grouped < now ? [`With \`npx starflow functions generate --grouped\` it is ${formatCount(grouped)}.`] : []
}

async function sum(functions: readonly WorkerFunction[]): Promise<Needs> {
  const { DEFAULT_MAX_PG_CONNECTIONS } = await import('@starflow/edge-worker')
  const settings = functions.map(({ flow, stepSlugs }) =>
    stepSlugs.length === 0
      ? [DEFAULT_MAX_PG_CONNECTIONS]
      : stepSlugs.map((stepSlug) => flow.workers?.connections[stepSlug] ?? DEFAULT_MAX_PG_CONNECTIONS),
  )
  return {
    functions: functions.length,
    workers: settings.reduce((workers, each) => workers + each.length, 0),
    connections: 2 * (await heldConnections(settings)),
  }
}

import type { Sql } from '@starflow/core'
import { isStarflowError, StarflowError } from '@starflow/errors'
import { type RunDirectory, runDirectoryOn, type Scope } from '@starflow/server/runs'
import type { Command } from 'commander'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import { type RunStore, withRunStore } from './run-store.ts'
import { checkSameDatabase } from './same-database.ts'

/** The runs of both placements, as far as they can be reached from here. */
export interface AllRuns {
  readonly runs: RunDirectory
  /** Where those of runners are kept. */
  readonly store: RunStore
  /** Where was looked, and where was not, for messages. */
  readonly places: string
  /** Why those on step queues are missing, where somebody may have expected them. */
  readonly gap: string | undefined
}

/** Adds the options of commands that show and steer runs wherever they execute. */
export function withRunOptions(command: Command): Command {
  return command
    .option(
      '--database-url <url>',
      'the database with the step queues (default: SUPABASE_DB_URL; with runs in a file: DATABASE_URL, else the "starflow dev" that runs here)',
    )
    .option('--json', 'print one JSON object')
}

/**
 * Opens both placements for as long as `work` takes: the runs of runners where the environment says that they are kept, and those on
 * step queues in the database that goes with it.
 *
 * @param tokens true where tokens of waits are verified
 * @throws StarflowError what opening a store or a database that was named is refused with
 */
export async function withAllRuns<T>(
  options: DatabaseOptions,
  work: (all: AllRuns) => Promise<T>,
  { tokens } = { tokens: false },
): Promise<T> {
  return await withRunStore((store) =>
    withQueues(options, store, (sql, gap) => {
      const key = tokens ? store.waitTokenKey() : undefined
      const runs = runDirectoryOn({ adapter: store.adapter, sql, waitTokenKeys: key === undefined ? [] : [key] })
      const places = sql === undefined ? `Looked in ${store.place}.` : `Looked in ${store.place} and on step queues.`
      return work({ runs, store, places: gap === undefined ? places : `${places} ${gap}`, gap })
    }),
  )
}

/** Another hint than that of the API. @throws StarflowError SF802 */
export async function ofRun<T>({ places }: AllRuns, runId: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!isStarflowError(error, 'SF802')) throw error
    throw new StarflowError({
      code: 'SF802',
      message: `Run ${runId} does not exist.`,
      detail: places,
      hint: 'See the runs there are: npx starflow runs list',
      fields: { runId },
    })
  }
}

/** The runs of a workspace, or of all. */
export function scopeOf(workspaceId: string | undefined): Scope {
  return workspaceId === undefined ? 'every' : { workspaceId }
}

type WithSql<T> = (sql: Sql | undefined, gap: string | undefined) => Promise<T>

async function withQueues<T>(options: DatabaseOptions, store: RunStore, work: WithSql<T>): Promise<T> {
  const databaseUrl = options.databaseUrl ?? (process.env.SUPABASE_DB_URL?.trim() || undefined)
  if (databaseUrl !== undefined) {
    return await withDatabase({ databaseUrl }, async ({ sql }) => {
      await checkDatabaseOf(store, sql, options.databaseUrl === undefined ? 'SUPABASE_DB_URL' : '--database-url')
      return await work(sql, undefined)
    })
  }
  if (store.adapter.substrate === 'supabase') {
    return await work(undefined, 'Runs on step queues are not shown: SUPABASE_DB_URL is not set.')
  }
  // Nobody has named a database for this: whoever keeps runs in a file may have none, or use DATABASE_URL for something else.
  let isOpen = false
  try {
    return await withDatabase({}, ({ sql }) => {
      isOpen = true
      return work(sql, undefined)
    })
  } catch (error) {
    if (isOpen || !isStarflowError(error)) throw error
    if (error.code === 'SF630') return await work(undefined, undefined)
    return await work(undefined, `Runs on step queues are not shown: ${error.message}`)
  }
}

/** Two lists that are shown as one have to be of one database. @throws StarflowError SF913 */
async function checkDatabaseOf({ databaseId }: RunStore, sql: Sql, urlSource: string): Promise<void> {
  if (databaseId === undefined) return
  await checkSameDatabase({ databaseId: await databaseId(), sql, urlSource })
}

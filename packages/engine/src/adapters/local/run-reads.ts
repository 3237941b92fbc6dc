import type { FlowShape } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { DefinitionRecord, RunEvent, RunRecord } from '../../run-record.ts'
import { parseRunSearch } from '../../run-search.ts'
import type { RunPage, RunQuery, RunReads } from '../../state-adapter.ts'
import { type EventRow, instant, listedRun, type RunRow, runEvent, runRecord } from './run-row.ts'
import type { SqlParameters, Transaction } from './state-database.ts'

export function readRun(transaction: Transaction, runId: string): RunRecord | null {
  const row = transaction.first<RunRow>('select * from workflow_runs where id = :runId', { runId })
  return row === undefined ? null : runRecord(row)
}

export function readEvents(
  transaction: Transaction,
  runId: string,
  { afterId = '0', limit = -1, nodeId }: NonNullable<Parameters<RunReads['readEvents']>[1]> = {},
): RunEvent[] {
  return transaction
    .all<EventRow>(
      `select * from workflow_run_events
       where run_id = :runId and id > cast(:afterId as integer) and (:nodeId is null or node_id = :nodeId)
       order by id limit :limit`,
      { runId, afterId, limit, nodeId: nodeId ?? null },
    )
    .map(runEvent)
}

export function readDefinition(transaction: Transaction, definitionId: string): DefinitionRecord | null {
  const row = transaction.first<{ id: string; flow_slug: string; shape_hash: string; shape: string }>(
    'select * from workflow_definitions where id = :definitionId',
    { definitionId },
  )
  if (row === undefined) return null
  const { id, flow_slug, shape_hash, shape } = row
  return { definitionId: id, flowSlug: flow_slug, shapeHash: shape_hash, shape: JSON.parse(shape) as FlowShape }
}

const LISTED = `id, template_id, workspace_id, env, status, claim_state, error, definition_id, runner_pool, leased_by, lease_until,
  last_heartbeat, claim_attempts, created_at, queued_at, available_at, started_at, completed_at, cancelled_at, duration_ms`

/** What a page looks at: of these runs an index gives the next ones, in order. */
const LOOKED_AT = `select ${LISTED} from workflow_runs
  where (:workspaceId is null or workspace_id = :workspaceId)
    and (:firstId is null or id between :firstId and :lastId)
    and (:createdFrom is null or created_at >= :createdFrom)
    and (:createdBefore is null or created_at < :createdBefore)
    and (:createdAt is null or (created_at, id) < (:createdAt, :id))
  order by created_at desc, id desc limit :lookAt`

export function listRuns(transaction: Transaction, query: RunQuery): RunPage {
  const before = query.before === undefined ? undefined : parseCursor(query.before)
  const search = query.search === undefined ? undefined : parseRunSearch(query.search)
  const lookedAt = {
    workspaceId: query.workspaceId ?? null,
    firstId: search?.kind === 'id' ? search.firstId : null,
    lastId: search?.kind === 'id' ? search.lastId : null,
    createdFrom: milliseconds(query.createdFrom),
    createdBefore: milliseconds(query.createdBefore),
    createdAt: before?.createdAt ?? null,
    id: before?.id ?? null,
    lookAt: query.lookAt ?? -1,
  }
  const rows = transaction.all<RunRow>(
    `select * from (${LOOKED_AT})
     where (:env is null or env = :env)
       and (:templateId is null or template_id = :templateId)
       and (:statuses is null or status in (select value from json_each(:statuses)))
       and (:text is null or instr(id, :text) = 1 or instr(lower(template_id), :text) > 0 or instr(lower(error), :text) > 0)
     limit :limit`,
    {
      ...lookedAt,
      env: query.env ?? null,
      templateId: query.templateId ?? null,
      statuses: query.statuses === undefined ? null : JSON.stringify(query.statuses),
      text: search?.kind === 'text' ? search.text : null,
      // One more tells whether there is another page.
      limit: query.limit + 1,
    },
  )
  const page = rows.slice(0, query.limit)
  // A look that ended early goes on behind the last run that it looked at.
  const end = rows.length > query.limit ? undefined : lastLookedAt(transaction, lookedAt, query.lookAt)
  const last = rows.length > query.limit ? page.at(-1) : end
  return {
    runs: page.map(listedRun),
    next: last === undefined ? null : `${last.created_at}_${last.id}`,
    lookedUntil: instant(end?.created_at ?? null),
  }
}

function lastLookedAt(
  transaction: Transaction,
  lookedAt: SqlParameters,
  lookAt: number | undefined,
): Pick<RunRow, 'id' | 'created_at'> | undefined {
  if (lookAt === undefined) return undefined
  return transaction.first(`select id, created_at from (${LOOKED_AT}) limit 1 offset :lookAt - 1`, lookedAt)
}

function milliseconds(instant: string | undefined): number | null {
  return instant === undefined ? null : Date.parse(instant)
}

function parseCursor(cursor: string): { createdAt: number; id: string } {
  const [, createdAt, id] = /^(\d{1,15})_([\w-]+)$/.exec(cursor) ?? []
  if (createdAt !== undefined && id !== undefined) return { createdAt: Number(createdAt), id }
  throw new StarflowError({
    code: 'SF001',
    message: `${JSON.stringify(cursor)} is no cursor of a list of runs.`,
    detail: 'A page begins where another one ended.',
    hint: 'Give as before what the last page gave as next, or leave it out.',
  })
}

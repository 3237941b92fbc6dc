import { StarflowError } from '@starflow/errors'
import type { RunEvent, RunRecord } from '../../run-record.ts'
import type { RunPage, RunQuery } from '../../state-adapter.ts'
import { type EventRow, type RunRow, runEvent, runRecord } from './run-row.ts'
import type { Transaction } from './state-database.ts'

export function readRun(transaction: Transaction, runId: string): RunRecord | null {
  const row = transaction.first<RunRow>('select * from workflow_runs where id = :runId', { runId })
  return row === undefined ? null : runRecord(row)
}

export function readEvents(
  transaction: Transaction,
  runId: string,
  { afterId = '0', limit = -1 }: { readonly afterId?: string | undefined; readonly limit?: number | undefined } = {},
): RunEvent[] {
  return transaction
    .all<EventRow>(
      'select * from workflow_run_events where run_id = :runId and id > cast(:afterId as integer) order by id limit :limit',
      { runId, afterId, limit },
    )
    .map(runEvent)
}

export function listRuns(transaction: Transaction, query: RunQuery): RunPage {
  const before = query.before === undefined ? undefined : parseCursor(query.before)
  const rows = transaction.all<RunRow>(
    `select * from workflow_runs
     where (:workspaceId is null or workspace_id = :workspaceId)
       and (:env is null or env = :env)
       and (:templateId is null or template_id = :templateId)
       and (:status is null or status = :status)
       and (:createdAt is null or (created_at, id) < (:createdAt, :id))
     order by created_at desc, id desc limit :limit`,
    {
      workspaceId: query.workspaceId ?? null,
      env: query.env ?? null,
      templateId: query.templateId ?? null,
      status: query.status ?? null,
      createdAt: before?.createdAt ?? null,
      id: before?.id ?? null,
      // One more tells whether there is another page.
      limit: query.limit + 1,
    },
  )
  const page = rows.slice(0, query.limit)
  const last = page.at(-1)
  return {
    runs: page.map(runRecord),
    next: rows.length > page.length && last !== undefined ? `${last.created_at}_${last.id}` : null,
  }
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

import { RUN_STATUSES } from '@starflow/engine'
import { z } from 'zod'
import { MAX_PAGE_SIZE, PAGE_SIZE } from '../numbers.ts'
import { PLACEMENTS, STEP_STATUSES } from '../runs/run-placement.ts'
import { NAME_PATTERN } from '../workspace.ts'

/** What endpoints take and give; each is a part of the OpenAPI description. */

export const json = z.json()
export const name = z.string().regex(NAME_PATTERN, 'must be letters, digits, dots, hyphens and underscores, 64 at most')
export const runId = z.uuid().describe('The id of the run.')
export const slug = z.string().min(1).max(128)
export const placement = z
  .enum(PLACEMENTS)
  .describe('queue: step queues and their workers. runner: as a whole on a runner.')
export const runStatus = z.enum(RUN_STATUSES)
const instant = z.iso.datetime()

/** A number in a query: text that is a whole number. */
export const limit = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)
  .refine((value) => value >= 1 && value <= MAX_PAGE_SIZE, `must be from 1 to ${MAX_PAGE_SIZE}`)
  .optional()
  .transform((value) => value ?? PAGE_SIZE)
  .describe(`How many at most; ${PAGE_SIZE} unless it says otherwise, ${MAX_PAGE_SIZE} at most.`)

export const runSummary = z.object({
  runId,
  flow: slug,
  placement,
  workspace: name.nullable().describe('Null: it was started in SQL and belongs to none.'),
  env: z.string().nullable(),
  status: runStatus,
  pool: z.string().nullable().describe('Only runners of this pool claim it; null: any runner.'),
  createdAt: instant,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  error: z.string().nullable(),
})

const stepView = z.object({
  step: slug,
  status: z.enum(STEP_STATUSES),
  tasks: z
    .object({ total: z.int(), completed: z.int() })
    .nullable()
    .describe('Of a map: its elements, as far as they are known.'),
  attempts: z.int(),
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  skipReason: z.string().nullable(),
  error: z.string().nullable(),
  output: json,
})

export const runDetail = runSummary.extend({
  input: json,
  output: json,
  steps: z.array(stepView),
  leasedBy: z.string().nullable().describe('The runner that holds it.'),
  leaseUntil: instant.nullable(),
})

export const runEvent = z.object({
  id: z.string().describe('Behind which the next page begins.'),
  type: z.string(),
  node: z.string().nullable().describe('The step, or `step[3]` for an element of a map.'),
  at: instant,
  payload: z.record(z.string(), json).nullable(),
})

export const openWait = z.object({
  runId,
  placement,
  step: slug,
  openedAt: instant.nullable(),
  dueAt: instant.nullable().describe('When it times out; null: never.'),
})

export const resumeOutcome = z
  .enum(['accepted', 'early', 'already_resumed', 'timed_out', 'run_ended', 'skipped'])
  .describe('Only with accepted, and with early once the wait opens, does the payload count.')

/** An instant of a driver or a port as the API writes it. */
export function iso(value: Date | string | null): string | null {
  return value === null ? null : new Date(value).toISOString()
}

import { CLAIM_STATES, RUN_STATUSES } from '@starflow/engine'
import { z } from 'zod'
import { MAX_INLINE_BYTES, MAX_PAGE_SIZE, PAGE_SIZE } from '../numbers.ts'
import { ATTEMPT_OUTCOMES, PLACEMENTS, STEP_STATUSES, TASK_STATUSES } from '../runs/run-placement.ts'
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
/** In a query, with any offset; as the rest of the server writes it. */
export const instantInQuery = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  // Others are written with a sign, and Postgres knows no year 0.
  .refine((text) => text >= '1900' && text <= '9999-12-31T23:59:59.999Z', {
    error: 'must be between the years 1900 and 9999',
  })

/** Several statuses in a query, with commas between. */
export const runStatuses = z
  .string()
  .max(100)
  .transform((text) => text.split(','))
  .pipe(z.array(runStatus))
  .describe(`One or several of ${runStatus.options.join(', ')}, with commas between.`)

/** A number in a query: text that is a whole number. */
export const wholeNumber = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)
export const limit = wholeNumber
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
  claimState: z
    .enum(CLAIM_STATES)
    .nullable()
    .describe(
      'Whether a runner has it, or may take it; a resumed run is paused and queued. Null: it is on step queues.',
    ),
  leasedBy: z.string().nullable().describe('The runner that holds it.'),
  createdAt: instant,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  error: z.string().nullable(),
})

export const runStatusView = runSummary.extend({
  steps: z.array(
    z.object({
      step: slug,
      status: z.enum(STEP_STATUSES),
      tasks: z
        .object({ total: z.int(), left: z.int().describe('Those that have not ended.') })
        .nullable()
        .describe('Of a map: its elements, as far as they are known.'),
    }),
  ),
})

const bytes = z.int().describe('As JSON text; of a large value about so many.')
const inline = (where: string) =>
  json.describe(`Null where it is larger than ${MAX_INLINE_BYTES} bytes: then ${where} has it.`)
export const taskStatus = z.enum(TASK_STATUSES)
const outcome = z
  .enum(ATTEMPT_OUTCOMES)
  .describe(
    'stalled: whoever made it was not heard of again. released: it was given back. type_violation: its output was not what the next step takes.',
  )

const stepView = z.object({
  step: slug,
  type: z.enum(['single', 'map', 'wait']),
  dependsOn: z.array(slug),
  queue: z.string().nullable().describe('Null of what has none: waits, and steps that a runner executes.'),
  status: z.enum(STEP_STATUSES),
  tasks: z
    .object({ total: z.int(), queued: z.int(), started: z.int(), completed: z.int(), failed: z.int() })
    .nullable()
    .describe('Of a map: its elements, as far as they are known. Others were skipped or cancelled.'),
  attempts: z.int().describe('Those of the task that had the most.'),
  maxAttempts: z.int().nullable(),
  timeoutSeconds: z.number().nullable().describe('That one attempt may take; of a wait, until it times out.'),
  readyAt: instant.nullable().describe('When what it depends on had ended.'),
  dueAt: instant
    .nullable()
    .describe('When the next of its queued work may begin (start delay, retry); of an open wait, when it times out.'),
  startedAt: instant.nullable().describe('When its first attempt began. Ready and not started: no worker has it yet.'),
  endedAt: instant.nullable(),
  skipReason: z.string().nullable(),
  error: z.string().nullable().describe('Why it failed; of a step that is still tried, why the last attempt did.'),
  errorName: z.string().nullable(),
  errorStack: z.string().nullable(),
  output: inline('GET /api/runs/{runId}/steps/{step}/output'),
  outputBytes: bytes.nullable().describe('Null: there is none yet.'),
  spans: z
    .array(
      z.object({
        task: z.int(),
        attempt: z.int(),
        outcome,
        worker: z.string().nullable(),
        startedAt: instant,
        endedAt: instant.nullable(),
      }),
    )
    .describe('The attempts of its first tasks, in order. The tasks of the step have all.'),
})

export const runDetail = runSummary.extend({
  input: inline('GET /api/runs/{runId}/input'),
  inputBytes: bytes,
  output: inline('GET /api/runs/{runId}/output'),
  outputBytes: bytes.nullable().describe('Null: there is none yet.'),
  cancelReason: z.string().nullable(),
  steps: z.array(stepView),
  queuedAt: instant.nullable().describe('Since when it waits for a runner, or did when it was taken last.'),
  leaseUntil: instant.nullable(),
})

export const taskView = z.object({
  task: z.int().describe('Its index; of a map that of its element.'),
  status: taskStatus,
  queuedAt: instant.nullable(),
  startedAt: instant.nullable().describe('When its last attempt began.'),
  endedAt: instant.nullable(),
  worker: z.string().nullable().describe('Of its last attempt.'),
  attempts: z.array(
    z.object({
      attempt: z.int(),
      outcome,
      worker: z.string().nullable(),
      function: z.string().nullable().describe('The worker function of the worker, while it is known.'),
      startedAt: instant.nullable(),
      endedAt: instant.nullable(),
      error: z.string().nullable(),
      errorName: z.string().nullable(),
      errorStack: z.string().nullable(),
    }),
  ),
  error: z.string().nullable(),
  outputBytes: bytes.nullable().describe('Null: there is none yet.'),
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
  flow: slug,
  placement,
  step: slug,
  openedAt: instant,
  dueAt: instant.nullable().describe('When it times out; null: never.'),
})

export const resumeOutcome = z
  .enum(['accepted', 'early', 'already_resumed', 'timed_out', 'run_ended', 'skipped'])
  .describe('Only with accepted, and with early once the wait opens, does the payload count.')

/** An instant of a driver or a port as the API writes it. */
export function iso(value: Date | string | null): string | null {
  return value === null ? null : new Date(value).toISOString()
}

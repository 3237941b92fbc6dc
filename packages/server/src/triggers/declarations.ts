import { DEFAULT_ENV } from '@starflow/engine'
import { z } from 'zod'
import { alertsSection } from '../alerts/alert-declarations.ts'
import { findUnstorable } from '../http/storable-json.ts'
import { CATCH_UP_LIMIT, MAX_CATCH_UP_LIMIT, WEBHOOK_TOLERANCE_MS } from '../numbers.ts'
import { PLACEMENTS } from '../runs/run-placement.ts'
import { NAME_PATTERN } from '../workspace.ts'
import { isReadablePointer } from './input-template.ts'
import { isTimeZone, scheduleProblem } from './schedule.ts'

/** What fires when schedules were due and no edge ran: nothing, the latest instant, or each one up to a bound. */
const CATCH_UP_RULES = ['none', 'last', 'all'] as const
/** What happens when a schedule is due while the run of its last firing goes on. */
const OVERLAP_RULES = ['allow', 'skip'] as const

const name = z.string().regex(NAME_PATTERN, 'must be letters, digits, dots, hyphens and underscores, 64 at most')
const slug = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,127}$/, 'must be the slug of a flow')
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
  .transform((header) => header.toLowerCase())
const pointer = z.string().refine(isReadablePointer, {
  error:
    'must be a JSON pointer into /body, or /headers/<name>, /delivery or /receivedAt; no header that carries a secret',
})
const bodyPointer = z
  .string()
  .regex(/^(?:\/(?:[^~/]|~[01])*)*$/, 'must be a JSON pointer into the body, for example /action')
const secretNames = z
  .array(z.string().regex(/^[A-Z_][A-Z0-9_]{0,127}$/, 'must be the name of an environment variable, not a secret'))
  .min(1)
  .max(4)
  .describe(
    'Environment variables that hold secrets. Any of them may have signed: to change one, name both for a while.',
  )

const start = {
  flow: slug.describe('The slug of the flow that is started.'),
  env: name.default(DEFAULT_ENV).describe('The environment that its runs are counted to.'),
  placement: z
    .enum(PLACEMENTS)
    .optional()
    .describe(
      'Where its runs execute. Default: on step queues where the flow is compiled in the database, else on a runner.',
    ),
  pool: name.optional().describe('Only runners of this pool claim its runs. It must be one of `pools`.'),
}

const trigger = z.strictObject({
  cron: z
    .string()
    .max(200)
    .superRefine((pattern, context) => {
      const problem = scheduleProblem(pattern)
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
    })
    .describe('Five fields (minute, hour, day of month, month, day of week), or six with seconds first.'),
  timeZone: z
    .string()
    .refine(isTimeZone, { error: 'must be a time zone of the IANA database, for example Europe/Berlin' })
    .default('UTC')
    .describe('Where the fields of `cron` are read.'),
  ...start,
  input: z.json().superRefine(refuseUnstorable).default({}).describe('What each run starts with.'),
  catchUp: z
    .enum(CATCH_UP_RULES)
    .default('last')
    .describe(
      'What fires of the instants that passed while no edge ran: `none`, the `last`, or `all` up to `catchUpLimit`.',
    ),
  catchUpLimit: z
    .int()
    .min(1)
    .max(MAX_CATCH_UP_LIMIT)
    .default(CATCH_UP_LIMIT)
    .describe('With `catchUp: all`, how many of them fire at most: the latest ones.'),
  overlap: z
    .enum(OVERLAP_RULES)
    .default('allow')
    .describe('`skip`: an instant that comes while the run of the one before goes on starts nothing.'),
})

const algorithm = z.enum(['sha1', 'sha256', 'sha512']).default('sha256').describe('The hash of the HMAC.')

const signature = z
  .discriminatedUnion('scheme', [
    z.strictObject({ scheme: z.literal('github'), secrets: secretNames }).describe('GitHub: `x-hub-signature-256`.'),
    z.strictObject({ scheme: z.literal('stripe'), secrets: secretNames }).describe('Stripe: `stripe-signature`.'),
    z.strictObject({ scheme: z.literal('slack'), secrets: secretNames }).describe('Slack: `x-slack-signature`.'),
    z
      .strictObject({ scheme: z.literal('standard-webhooks'), secrets: secretNames })
      .describe('Standard Webhooks: `webhook-signature`; a secret begins with `whsec_`.'),
    z
      .strictObject({
        scheme: z.literal('hmac'),
        secrets: secretNames,
        header: headerName.describe('The header with the signature.'),
        prefix: z.string().max(32).default('').describe('What stands before it in the header, for example `sha256=`.'),
        algorithm,
        encoding: z.enum(['hex', 'base64']).default('hex').describe('How the signature is written.'),
        timestamp: z
          .strictObject({
            header: headerName.describe('The header with the seconds since 1970.'),
            separator: z
              .string()
              .max(8)
              .default('.')
              .describe('What stands between them and the body in what is signed.'),
          })
          .optional()
          .describe(
            `What is signed begins with a timestamp, which may be ${WEBHOOK_TOLERANCE_MS / 60_000} minutes away at most.`,
          ),
      })
      .describe('Anybody else who signs the raw body with an HMAC.'),
  ])
  .describe('How a request proves who sent it. There is no webhook without.')

const deliveryId = z
  .union([
    z.strictObject({ header: headerName }).describe('A header has it.'),
    z.strictObject({ field: bodyPointer }).describe('A field of the body has it.'),
    z.literal('body').describe('The whole body is it: the same body again is the same delivery.'),
  ])
  .describe(
    'What names a delivery, so that the same again starts no second run. By default what the scheme has; `hmac` has nothing.',
  )

const values = z
  .array(z.union([z.string(), z.number(), z.boolean(), z.null()]))
  .min(1)
  .max(50)
const condition = z
  .union([
    z.strictObject({ header: headerName, in: values }).describe('A header is one of these.'),
    z.strictObject({ field: bodyPointer, in: values }).describe('A field of the body is one of these.'),
  ])
  .describe('What a delivery must have.')

const webhook = z.strictObject({
  ...start,
  signature,
  delivery: deliveryId.optional(),
  when: z
    .array(condition)
    .max(20)
    .default([])
    .describe('All must hold, or the delivery is answered and starts nothing.'),
  input: z
    .json()
    .default({ $from: '/body' })
    .superRefine((template, context) => {
      refuseUnstorable(template, context)
      for (const { path, from } of templatePointers(template)) {
        const problem = pointer.safeParse(from).error?.issues[0]?.message
        if (problem !== undefined) context.addIssue({ code: 'custom', path: [...path, '$from'], message: problem })
      }
    })
    .describe(
      'The input of the run. An object `{ $from: <JSON pointer> }` stands for what is there in `/body`, `/headers/<name>`, `/delivery` or `/receivedAt`; with `$default` it may be missing. Default: the whole body.',
    ),
})

const pool = z.strictObject({
  description: z.string().max(500).optional().describe('What it is for.'),
  concurrency: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('How many runs a runner of this pool executes at once, unless STARFLOW_RUNNER_CONCURRENCY says so.'),
})

/** Entries by name. Names are checked apart from entries: zod does not look at the entry of a key that it refuses. */
function named<TEntry extends z.ZodType>(entry: TEntry) {
  return z
    .record(z.string(), entry)
    .default({})
    .meta({ propertyNames: { pattern: NAME_PATTERN.source } })
}

/** starflow.yaml. The JSON Schema for editors and the reference page are made of this. */
export const declarationsSchema = z
  .strictObject({
    triggers: named(trigger).describe('Flows that start by the clock, by name.'),
    webhooks: named(webhook).describe('Flows that start with a request to `/webhooks/<name>`, by name.'),
    pools: named(pool).describe('Runner pools that triggers and webhooks may name.'),
    alerts: alertsSection(named),
  })
  .describe(
    'What a server does by itself: schedules, webhooks, the pools of runners that execute what they start, and whom it tells when something is wrong.',
  )

/** The schema of starflow.yaml for editors: what may be left out is left out. */
export function declarationsJsonSchema(): object {
  return z.toJSONSchema(declarationsSchema, { io: 'input', unrepresentable: 'any', reused: 'inline', cycles: 'ref' })
}

/** What starflow.yaml declares, checked. */
export type Declarations = z.output<typeof declarationsSchema>
export type TriggerDeclaration = Declarations['triggers'][string]
export type WebhookDeclaration = Declarations['webhooks'][string]
export type SignatureDeclaration = WebhookDeclaration['signature']
export type Condition = WebhookDeclaration['when'][number]

export const NO_DECLARATIONS: Declarations = { triggers: {}, webhooks: {}, pools: {}, alerts: undefined }

/** What no store can keep would be refused at each start, when nobody looks. */
function refuseUnstorable(input: unknown, context: z.RefinementCtx): void {
  const found = findUnstorable(input)
  if (found === undefined) return
  const path = found.path === '' ? [] : found.path.split('.')
  context.addIssue({ code: 'custom', path, message: found.problem })
}

/** Each `$from` of a template and where it stands. */
function templatePointers(
  template: unknown,
  path: readonly (string | number)[] = [],
): { readonly path: readonly (string | number)[]; readonly from: unknown }[] {
  if (Array.isArray(template)) return template.flatMap((each, index) => templatePointers(each, [...path, index]))
  if (typeof template !== 'object' || template === null) return []
  if ('$from' in template) return [{ path, from: template.$from }]
  return Object.entries(template).flatMap(([key, each]) => templatePointers(each, [...path, key]))
}

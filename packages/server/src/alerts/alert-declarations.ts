import { LAG_PAGE_MS } from '@starflow/engine'
import { z } from 'zod'
import {
  ALERT_GRACE_S,
  ALERT_GROUP_S,
  ALERT_WINDOW_MINUTES,
  MAX_ALERT_GRACE_S,
  MAX_ALERT_GROUP_S,
  MAX_ALERT_WINDOW_MINUTES,
} from '../numbers.ts'

/** What alerts look for. */
export const ALERT_RULES = ['failedRuns', 'uncoveredQueues', 'unservedRuns', 'stalls', 'outboxLag'] as const

const withinMinutes = z
  .int()
  .min(1)
  .max(MAX_ALERT_WINDOW_MINUTES)
  .default(ALERT_WINDOW_MINUTES)
  .describe('How far back is looked. When so long nothing more has come, it is over.')
const graceSeconds = z
  .int()
  .min(0)
  .max(MAX_ALERT_GRACE_S)
  .default(ALERT_GRACE_S)
  .describe('How long it has to be so before anybody is told.')
const atLeast = z.int().min(1).max(1_000_000).default(1).describe('How many it takes.')

/** On with what is declared, on with what is default, or off. */
function rule<TSettings extends z.ZodObject>(settings: TSettings) {
  return z.union([settings, z.literal(false)])
}

const rules = z
  .strictObject({
    failedRuns: rule(
      z.strictObject({
        atLeast,
        withinMinutes,
        flows: z.array(z.string().min(1).max(128)).min(1).max(100).optional().describe('Only runs of these flows.'),
      }),
    )
      .prefault({})
      .describe('Runs of a flow have failed, in either placement.'),
    uncoveredQueues: rule(z.strictObject({ graceSeconds }))
      .prefault({})
      .describe('A queue of a step has messages and no live worker, all its functions are disabled, or it is gone.'),
    unservedRuns: rule(z.strictObject({ graceSeconds }))
      .prefault({})
      .describe('Runs are queued that no live runner serves.'),
    stalls: rule(z.strictObject({ atLeast, withinMinutes }))
      .prefault({})
      .describe('Workers did not report in time and their tasks were put back, or runners were lost.'),
    outboxLag: rule(z.strictObject({}))
      .prefault({})
      .describe(`Writes have not reached the warm tier for ${LAG_PAGE_MS / 1000} s.`),
  })
  .prefault({})
  .describe('What is looked for. A rule that is not here is on with what is default; `false` switches it off.')

const variable = z.string().regex(/^[A-Z_][A-Z0-9_]{0,127}$/, 'must be the name of an environment variable')

const webhook = z.strictObject({
  url: z
    .union([
      z.url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://' }),
      z.strictObject({ variable }).describe('An environment variable that holds it.'),
    ])
    .describe('Where messages are sent. One that is a secret itself stands in an environment variable.'),
  secrets: z
    .array(variable)
    .min(1)
    .max(4)
    .describe(
      'Environment variables with the secrets that sign, in the form of Standard Webhooks (`whsec_…`). Each of them signs, so that the receiver may change its own.',
    ),
  rules: z.array(z.enum(ALERT_RULES)).min(1).optional().describe('Only problems of these rules. Default: all.'),
})

/** The section `alerts` of starflow.yaml. `webhooks` is left to the caller, who knows what names are. */
export function alertsSection(
  named: (entry: typeof webhook) => z.ZodDefault<z.ZodRecord<z.ZodString, typeof webhook>>,
) {
  return z
    .strictObject({
      webhooks: named(webhook).describe('Who is told, by name. Without any, problems are lines of the log.'),
      groupSeconds: z
        .int()
        .min(1)
        .max(MAX_ALERT_GROUP_S)
        .default(ALERT_GROUP_S)
        .describe('The first problem is told at once; what comes within this is told together.'),
      rules,
    })
    .optional()
    .describe('Who is told when something is wrong. Without this section nobody looks.')
}

export type AlertDeclarations = NonNullable<z.output<ReturnType<typeof alertsSection>>>
export type AlertWebhook = AlertDeclarations['webhooks'][string]

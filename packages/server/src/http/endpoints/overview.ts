import { QUEUE_TROUBLES } from '@starflow/core/operations'
import type { MirrorLag } from '@starflow/engine'
import { z } from 'zod'
import { outboxGauge } from '../../mirror/outbox-gauge.ts'
import { MAX_LIVENESS_PROBLEMS } from '../../numbers.ts'
import type { Overview, SharedFigures } from '../../overview/overview.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

const instant = z.iso.datetime()

/** How all is, at one glance. */
export function overviewEndpoints(overview: Overview): Endpoint[] {
  return [
    endpoint({
      ...{ id: 'showOverview', method: 'get', path: '/api/overview', tag: 'Overview', access: 'scope' },
      summary: 'Show how all is: runs per minute, queues in trouble, workers, lag, and open runs without a next actor',
      description:
        'Runs and waits are those of the workspace. Queues, workers, runners and the outbox serve all workspaces: only the operator is shown them.',
      answers: {
        200: {
          description: 'The figures, a few seconds old at most.',
          schema: z.object({
            asOf: instant,
            runs: z.object({
              open: z
                .object({ queued: z.int(), running: z.int(), paused: z.int() })
                .describe('Open runs by status, each counted up to 10000.'),
              minutes: z
                .array(z.object({ at: instant, started: z.int(), failed: z.int() }))
                .describe(
                  'The last hour, the oldest minute first; it begins later where there were too many runs to count.',
                ),
            }),
            openWaits: z.int(),
            queues: z
              .object({
                total: z.int(),
                inTrouble: z.array(
                  z.object({
                    queue: z.string(),
                    troubles: z.array(z.enum(QUEUE_TROUBLES)),
                    depth: z.int().nullable(),
                    waitingSeconds: z.number().nullable(),
                    oldestSeconds: z.number().nullable(),
                    stalled: z.int(),
                    liveWorkers: z.int(),
                    fence: z.string().nullable(),
                  }),
                ),
              })
              .nullable()
              .describe('Null for a workspace.'),
            workers: z
              .object({ live: z.int() })
              .nullable()
              .describe('Null for a workspace, and where there are no step queues.'),
            runners: z
              .object({ live: z.int(), capacity: z.int(), runs: z.int() })
              .nullable()
              .describe('Null for a workspace.'),
            outbox: z
              .object({ unapplied: z.int(), oldestMs: z.int(), asOf: instant })
              .nullable()
              .describe('How far the warm tier is behind; null for a workspace, and where runs are not mirrored.'),
            liveness: z.object({
              checkedAt: instant,
              problems: z
                .array(
                  z.object({
                    placement: schema.placement,
                    kind: z.enum(['run', 'step', 'task']),
                    flow: z.string(),
                    runId: schema.runId,
                    step: z.string().nullable(),
                    task: z.int().nullable(),
                    reason: z.string(),
                  }),
                )
                .describe(`Open runs without a next actor, ${MAX_LIVENESS_PROBLEMS} at most: there should be none.`),
            }),
          }),
        },
      },
      handle: async ({ scope, caller }) => {
        const { asOf, open, minutes, openWaits, liveness, ...shared } = await overview.read(scope)
        return {
          status: 200,
          body: {
            ...{ asOf, runs: { open, minutes }, openWaits },
            ...(caller?.kind === 'operator' ? sharedView(shared) : NOT_SHOWN),
            liveness: { checkedAt: schema.iso(liveness.checkedAt), problems: liveness.problems },
          },
        }
      },
    }),
  ]
}

const NOT_SHOWN = { queues: null, workers: null, runners: null, outbox: null }

function sharedView({ queues, liveWorkers, runners, lag }: SharedFigures) {
  return {
    queues: {
      total: queues.total,
      inTrouble: queues.inTrouble.map(({ queueName, ...queue }) => ({
        queue: queueName,
        troubles: queue.troubles,
        depth: queue.depth,
        waitingSeconds: queue.waitingSeconds,
        oldestSeconds: queue.oldestSeconds,
        stalled: queue.stalled,
        liveWorkers: queue.liveWorkers,
        fence: queue.fence,
      })),
    },
    workers: liveWorkers === undefined ? null : { live: liveWorkers },
    runners,
    outbox: lag === undefined ? null : outboxOf(lag),
  }
}

function outboxOf(lag: MirrorLag) {
  const unapplied = outboxGauge(lag).reduce((total, { changes }) => total + changes, 0)
  return { unapplied, oldestMs: lag.oldestMs, asOf: schema.iso(lag.asOf) }
}

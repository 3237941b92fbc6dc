import type { LiveRun, MirrorLag, WarmTier } from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import { z } from 'zod'
import type { Mirror } from '../../mirror/mirror.ts'
import { outboxGauge } from '../../mirror/outbox-gauge.ts'
import { MAX_SHOWN_REFUSALS } from '../../numbers.ts'
import type { RunDirectory } from '../../runs/run-directory.ts'
import { workspaceOf } from '../../workspace.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

const tag = 'Live'
const instant = z.iso.datetime()
const asOf = instant
  .nullable()
  .describe('Everything that was written up to then is in the answer; null: nothing is known yet.')
const liveRun = z.object({
  runId: schema.runId,
  flow: z.string().nullable(),
  workspace: schema.name,
  env: z.string(),
  status: schema.runStatus,
  phase: z.string().nullable(),
  runner: z.string().nullable().describe('Who holds it.'),
  active: z.array(
    z.object({
      node: z.string().describe('The step, or `step[3]` for an element of a map.'),
      attempt: z.int().nullable(),
      since: instant,
      progress: schema.json.describe('What it last said of itself; null: nothing.'),
    }),
  ),
})

/** What the warm tier tells: a hint, a second or two late. What has consequences is read elsewhere. */
export function mirrorEndpoints(mirror: Mirror | undefined, runs: Pick<RunDirectory, 'check'>): Endpoint[] {
  return [
    endpoint({
      ...{ id: 'listPeers', method: 'get', path: '/api/peers', tag, access: 'scope' },
      summary: 'List what the runs of the workspace are doing right now, the last changed first',
      query: z.object({ limit: schema.limit }),
      answers: {
        200: { description: 'Runs that are held or paused.', schema: z.object({ asOf, peers: z.array(liveRun) }) },
      },
      errors: ['SF941'],
      handle: async ({ scope, query }) => {
        const peers = await ask(mirror, (warm) =>
          warm.listPeers({ workspaceId: workspaceOf(scope), limit: query.limit }),
        )
        return { status: 200, body: { asOf: peers.asOf, peers: peers.answer.map(liveRunView) } }
      },
    }),
    endpoint({
      ...{ id: 'showLiveRun', method: 'get', path: '/api/runs/{runId}/live', tag, access: 'scope' },
      summary: 'Show what a run on a runner is doing right now, with the progress of its steps',
      params: z.object({ runId: schema.runId }),
      answers: {
        200: {
          description: 'The run; null where the warm tier does not know it yet, or the server does not mirror.',
          schema: z.object({ asOf, run: liveRun.nullable() }),
        },
      },
      errors: ['SF802', 'SF941'],
      handle: async ({ scope, params }) => {
        await runs.check(scope, params.runId)
        // Nothing is known here of any run, which is no failure.
        if (mirror === undefined) return { status: 200, body: { asOf: null, run: null } }
        const { asOf, answer } = await ask(mirror, (warm) => warm.readRuns([params.runId]))
        const [run] = answer
        return { status: 200, body: { asOf, run: run === undefined ? null : liveRunView(run) } }
      },
    }),
    endpoint({
      ...{ id: 'showMirror', method: 'get', path: '/api/mirror', tag, access: 'operator' },
      summary: 'Show how far the warm tier is behind, and what it refused',
      answers: {
        200: {
          description:
            'Writes that it has not, by age, and the latest of the last week that were set aside since it refuses them.',
          schema: z.object({
            unapplied: z.array(z.object({ ageBucket: z.string(), changes: z.int() })),
            oldestMs: z.int(),
            asOf: instant,
            refused: z.array(
              z.object({
                outboxId: z.string(),
                runId: schema.runId.nullable(),
                kind: z.string(),
                reason: z.string(),
                writtenAt: instant,
              }),
            ),
          }),
        },
      },
      errors: ['SF941'],
      handle: async () => {
        const lag: MirrorLag | undefined = mirror && (await mirror.measureLag())
        if (mirror === undefined || lag === undefined) throw noWarmTier('This server does not mirror.')
        const { oldestMs, asOf } = lag
        const refused = (await mirror.refused(MAX_SHOWN_REFUSALS)).map(({ id, runId, kind, reason, createdAt }) => ({
          ...{ outboxId: id, runId, kind, reason, writtenAt: schema.iso(createdAt) },
        }))
        return { status: 200, body: { unapplied: outboxGauge(lag), oldestMs, asOf: schema.iso(asOf), refused } }
      },
    }),
  ]
}

async function ask<T>(mirror: Mirror | undefined, question: (warm: WarmTier) => Promise<T>) {
  if (mirror === undefined) throw noWarmTier('This server does not mirror.')
  try {
    // The instant first: what the answer knows beyond it does no harm.
    const asOf = schema.iso(await mirror.warm.asOf())
    return { asOf, answer: await question(mirror.warm) }
  } catch (cause) {
    throw noWarmTier('It does not answer.', cause)
  }
}

function liveRunView({ runId, run, activeNodes, progress }: LiveRun) {
  return {
    ...{ runId, flow: run.template_id, workspace: run.workspace_id, env: run.env, status: run.status },
    ...{ phase: run.phase, runner: run.leased_by },
    active: Object.entries(activeNodes).map(([node, { attempt, since }]) => ({
      ...{ node, attempt, since: schema.iso(since), progress: progress[node]?.value ?? null },
    })),
  }
}

function noWarmTier(detail: string, cause?: unknown): StarflowError {
  return new StarflowError({
    code: 'SF941',
    message: 'This server has no warm tier.',
    detail,
    hint: 'Read the runs themselves (GET /api/runs), or set STARFLOW_MIRROR=on.',
    cause,
  })
}

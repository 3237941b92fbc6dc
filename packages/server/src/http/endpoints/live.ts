import { z } from 'zod'
import type { LiveHints } from '../../live/live-hints.ts'
import { LIVE_KINDS } from '../../live/live-marks.ts'
import { MAX_WATCHED_RUNS } from '../../numbers.ts'
import type { RunDirectory } from '../../runs/run-directory.ts'
import type { Scope } from '../../workspace.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import { hintStream } from '../hint-stream.ts'
import * as schema from '../schemas.ts'

/** Hints that something has changed, for whoever shows it. */
export function liveEndpoints(hints: LiveHints, runs: RunDirectory): Endpoint[] {
  return [
    endpoint({
      ...{ id: 'followChanges', method: 'get', path: '/api/live', tag: 'Live', access: 'caller' },
      summary: 'Tell what kind of thing has changed, as it changes',
      description: `A stream of events, never data: \`hint\` with one of ${LIVE_KINDS.join(', ')}, and \`run\` with the id of a run that is watched. It begins with a hint of every kind, so that whoever comes back has missed nothing. A hint may come without a change that the caller can see. Browsers cannot send a header with it: the operator's token stands for every workspace here.`,
      query: z.object({
        run: z
          .string()
          .max(37 * MAX_WATCHED_RUNS)
          .transform((text) => text.split(','))
          .pipe(z.array(schema.runId).max(MAX_WATCHED_RUNS))
          .optional()
          .describe(`Runs to watch, with commas between; ${MAX_WATCHED_RUNS} at most.`),
      }),
      answers: {
        200: { description: 'The stream.', schema: z.object({}), isStreamable: true },
      },
      errors: ['SF802'],
      handle: async ({ caller, query: { run: runIds = [] }, signal }) => {
        const scope: Scope = caller?.kind === 'workspace' ? { workspaceId: caller.workspaceId } : 'every'
        for (const runId of runIds) await runs.check(scope, runId)
        return hintStream(hints, runIds, signal)
      },
    }),
  ]
}

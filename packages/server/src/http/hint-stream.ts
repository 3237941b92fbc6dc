import type { LiveHint, LiveHints } from '../live/live-hints.ts'
import { LIVE_KINDS, type LiveKind } from '../live/live-marks.ts'
import { STREAM_KEEPALIVE_MS } from '../numbers.ts'
import { eventStreamResponse } from './event-stream.ts'

/**
 * Hints as server-sent events: `hint` with a kind, `run` with the id of a run that is watched. Whoever comes, or comes back, is told that
 * everything may have changed: nothing that was missed has to be made up for. Whoever reads slowly is told once what came meanwhile, however
 * often it came: what is kept for one listener never grows beyond one hint of each kind.
 */
export function hintStream(hints: Pick<LiveHints, 'listen'>, runIds: readonly string[], signal: AbortSignal): Response {
  return eventStreamResponse(signal, async (send, ended) => {
    const untold = { kinds: new Set<LiveKind>(LIVE_KINDS), runIds: new Set(runIds) }
    let wake = () => {}
    const stop = hints.listen({
      runIds,
      tell: (hint) => {
        for (const kind of hint.kinds) untold.kinds.add(kind)
        for (const runId of hint.runIds) untold.runIds.add(runId)
        wake()
      },
    })
    const alive = setInterval(() => wake(), STREAM_KEEPALIVE_MS)
    ended.addEventListener('abort', () => wake(), { once: true })
    try {
      while (!ended.aborted) {
        const text = hintText({ kinds: [...untold.kinds], runIds: [...untold.runIds] })
        untold.kinds.clear()
        untold.runIds.clear()
        await send(text === '' ? ': still here\n\n' : text)
        if (ended.aborted || untold.kinds.size > 0 || untold.runIds.size > 0) continue
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      clearInterval(alive)
      stop()
    }
  })
}

function hintText({ kinds, runIds }: LiveHint): string {
  return [
    ...kinds.map((kind) => `event: hint\ndata: ${kind}\n\n`),
    ...runIds.map((runId) => `event: run\ndata: ${runId}\n\n`),
  ].join('')
}

import type { LiveHint, LiveHints } from '../live/live-hints.ts'
import { LIVE_KINDS } from '../live/live-marks.ts'
import { STREAM_KEEPALIVE_MS } from '../numbers.ts'
import { eventStreamResponse } from './event-stream.ts'

/**
 * Hints as server-sent events: `hint` with a kind, `run` with the id of a run that is watched. Whoever comes, or comes back, is told that
 * everything may have changed: nothing that was missed has to be made up for.
 */
export function hintStream(hints: LiveHints, runIds: readonly string[], signal: AbortSignal): Response {
  return eventStreamResponse(signal, async (send, ended) => {
    const tell = (hint: LiveHint) => send(hintText(hint))
    tell({ kinds: LIVE_KINDS, runIds })
    const stop = hints.listen({ runIds, tell })
    const alive = setInterval(() => send(': still here\n\n'), STREAM_KEEPALIVE_MS)
    await new Promise<void>((resolve) => {
      if (ended.aborted) resolve()
      ended.addEventListener('abort', () => resolve(), { once: true })
    })
    clearInterval(alive)
    stop()
  })
}

function hintText({ kinds, runIds }: LiveHint): string {
  return [
    ...kinds.map((kind) => `event: hint\ndata: ${kind}\n\n`),
    ...runIds.map((runId) => `event: run\ndata: ${runId}\n\n`),
  ].join('')
}

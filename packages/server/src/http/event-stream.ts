import { setTimeout as pause } from 'node:timers/promises'
import { exactJsonText } from '@starflow/dsl'
import { EVENT_POLL_MS, STREAM_KEEPALIVE_MS } from '../numbers.ts'
import { END_EVENTS, type EventFollower, type RunEventView } from '../runs/run-placement.ts'

/**
 * The events of a run as server-sent events: what there is, then what comes, until the run has ended. A client that was cut off
 * sends the id of the last one that it got (browsers do so by themselves), and goes on behind it.
 */
export async function eventStream(options: {
  readonly follower: EventFollower
  /** Whether the run has ended, asked once when nothing is left behind the last event. */
  readonly hasEnded: () => Promise<boolean>
  readonly signal: AbortSignal
}): Promise<Response> {
  // Before the answer begins: what refuses it gets a status of its own, also for a client that comes back.
  const first = await options.follower.next()
  return eventStreamResponse(options.signal, (send, ended) => follow(first, options, send, ended))
}

/**
 * A response of server-sent events, which lasts until `work` has ended. The signal that it is given is aborted when the caller hangs up, or
 * when `signal` is. `send` settles when the caller has room for more, or no longer listens: whoever awaits it fills no memory for a
 * caller that reads slowly.
 */
export function eventStreamResponse(
  signal: AbortSignal,
  work: (send: (text: string) => Promise<void>, ended: AbortSignal) => Promise<void>,
): Response {
  const encoder = new TextEncoder()
  const hangUp = new AbortController()
  const ended = AbortSignal.any([signal, hangUp.signal])
  let makeRoom = () => {}
  ended.addEventListener('abort', () => makeRoom(), { once: true })
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const send = async (text: string) => {
        if (hangUp.signal.aborted) return
        controller.enqueue(encoder.encode(text))
        if (ended.aborted || (controller.desiredSize ?? 0) > 0) return
        await new Promise<void>((resolve) => {
          makeRoom = resolve
        })
      }
      void send('retry: 1000\n\n')
        .then(() => work(send, ended))
        // Whoever reads learns by the end of the stream, and comes back: then an error has an answer of its own.
        .catch(() => {})
        .finally(() => {
          if (!hangUp.signal.aborted) controller.close()
        })
    },
    pull: () => makeRoom(),
    cancel: () => hangUp.abort(),
  })
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    },
  })
}

async function follow(
  first: readonly RunEventView[],
  { follower, hasEnded }: Parameters<typeof eventStream>[0],
  send: (text: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let quietMs = 0
  for (let events = first; !signal.aborted; events = await follower.next()) {
    if (events.length > 0) await send(events.map(eventText).join(''))
    const last = events.at(-1)
    if (last === undefined ? events === first && (await hasEnded()) : END_EVENTS.includes(last.type)) {
      return await send('event: end\ndata: {}\n\n')
    }
    quietMs = events.length > 0 ? 0 : quietMs + EVENT_POLL_MS
    if (quietMs >= STREAM_KEEPALIVE_MS) {
      await send(': still here\n\n')
      quietMs = 0
    }
    // Behind what has come there may be more.
    if (events.length === 0) await pause(EVENT_POLL_MS, undefined, { signal }).catch(() => {})
  }
}

function eventText(event: RunEventView): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${exactJsonText(event)}\n\n`
}

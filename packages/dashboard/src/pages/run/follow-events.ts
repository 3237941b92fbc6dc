import { EventSourceParserStream } from 'eventsource-parser/stream'
import { scopeHeader, type WorkspaceScope } from '../../api/scope.ts'
import type { RunEvent } from './event-groups.ts'

const PAUSE_MS = 2_000

/**
 * Follows the events of a run until it has ended or the signal comes. A stream that breaks is taken up behind the last event. Not an
 * `EventSource`: that sends no header, and the operator names the workspace in one.
 */
export async function followEvents(options: {
  readonly runId: string
  readonly scope: WorkspaceScope
  readonly after: string | undefined
  readonly signal: AbortSignal
  readonly onEvent: (event: RunEvent) => void
}): Promise<void> {
  const { runId, scope, signal, onEvent } = options
  let after = options.after
  while (!signal.aborted) {
    try {
      const response = await fetch(`/api/runs/${runId}/events`, {
        headers: {
          accept: 'text/event-stream',
          ...scopeHeader(scope),
          ...(after !== undefined && { 'last-event-id': after }),
        },
        signal,
      })
      // What is refused here is refused to the page's other requests too, and told there.
      if (!response.ok || response.body === null) return
      const messages = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
      for (const reader = messages.getReader(); ; ) {
        const { done, value } = await reader.read()
        if (done) break
        if (value.event === 'end') return
        after = value.id ?? after
        onEvent(JSON.parse(value.data) as RunEvent)
      }
    } catch {
      // The connection was lost, or is not wanted any longer.
    }
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

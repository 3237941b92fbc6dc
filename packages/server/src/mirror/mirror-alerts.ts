import type { MirrorEvent } from '@starflow/engine'
import { errorFields, type LogFields, type ServerLog } from '../log.ts'
import { ALERT_TIMEOUT_MS } from '../numbers.ts'

/** What a mirror says, as lines of the log; a new level of its lag also as a request to whoever wants to be called. */
export function mirrorAlerts(log: ServerLog, alertUrl: string | undefined): (event: MirrorEvent) => void {
  return (event) => {
    // What an error says may quote a payload.
    const { level, event: name, message: _message, ...fields } = { message: undefined, ...event }
    log[level](fields as LogFields, name)
    if (alertUrl === undefined || event.event !== 'mirror.lag') return
    void post(alertUrl, event).catch((error: unknown) => log.warn(errorFields(error), 'mirror.alert_failed'))
  }
}

async function post(url: string, event: MirrorEvent): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(event),
    signal: AbortSignal.timeout(ALERT_TIMEOUT_MS),
  })
  if (!response.ok) throw new Error(`The alert was answered with ${response.status}.`)
}

import type { RunnerEvent } from '@starflow/engine'
import type { LogFields, ServerLog } from './log.ts'

/** What a runner and its runs say, as lines of the log. Of what handlers log only the message is kept: details may be payloads. */
export function logRunnerEvent(log: ServerLog, event: RunnerEvent): void {
  const { level, event: name, ...fields } = event
  const plain = Object.entries(fields).filter(([, value]) => typeof value !== 'object')
  log[level](Object.fromEntries(plain) as LogFields, name)
}

import type { LogLevel, WorkerEvent, WorkerLogger } from './events.ts'

export interface LogOptions {
  readonly format: 'json' | 'plain'
  readonly level: LogLevel
  readonly write: (line: string, level: LogLevel) => void
}

const LEVELS: Readonly<Record<LogLevel, number>> = { debug: 10, info: 20, warn: 30, error: 40 }

/** The logger that writes one line an event, as JSON for machines or plain for people. */
export function lineLogger(options: LogOptions): WorkerLogger {
  return (event) => {
    if (LEVELS[event.level] < LEVELS[options.level]) return
    const shown = options.level === 'debug' ? event : withoutErrorMessage(event)
    options.write(options.format === 'json' ? jsonLine(shown) : plainLine(shown), event.level)
  }
}

/** The console's own streams: warnings and errors keep their severity on hosted platforms. */
export function writeToConsole(line: string, level: LogLevel): void {
  if (level === 'error') console.error(line)
  else if (level === 'warn') console.warn(line)
  else console.log(line)
}

/** A handler's own error text may repeat its input; it stands in the database. */
function withoutErrorMessage(event: WorkerEvent): WorkerEvent {
  if (event.event !== 'task.failed') return event
  const { errorMessage: _, ...rest } = event
  return rest
}

function jsonLine(event: WorkerEvent): string {
  try {
    return JSON.stringify(event, (_key, value) => (typeof value === 'bigint' ? value.toString() : value))
  } catch {
    // Only fields that a handler gave its own logger can be circular.
    return JSON.stringify({ level: event.level, event: event.event, unloggable: true })
  }
}

function plainLine(event: WorkerEvent): string {
  const { level, event: name, functionName, ...fields } = event as WorkerEvent & Record<string, unknown>
  const words = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) => `${key}=${plainValue(value)}`)
  return [level.toUpperCase().padEnd(5), functionName ?? '-', name, ...words].join(' ')
}

function plainValue(value: unknown): string {
  if (typeof value === 'string') return /^[\w.:/-]+$/.test(value) ? value : JSON.stringify(value)
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return '"(unloggable)"'
  }
}

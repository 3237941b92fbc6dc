/** One event of a worker's log, as a function prints it with STARFLOW_LOG_FORMAT=json. */
export interface WorkerLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly event: string
  readonly functionName?: string
  readonly workerId?: string
  readonly queueName?: string
  readonly flowSlug?: string | null
  readonly stepSlug?: string | null
  readonly runId?: string
  readonly taskIndex?: number
  readonly attempt?: number
  readonly message?: string
  readonly [field: string]: unknown
}

/** The event that a line of a function's output is; undefined for what a handler printed by itself. */
export function parseWorkerLine(line: string): WorkerLine | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const value = JSON.parse(line) as WorkerLine
    return typeof value.event === 'string' && typeof value.level === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** Who speaks, as short as it can be told: the step, else the flow, else the function. */
export function speakerOf({ stepSlug, flowSlug, functionName }: WorkerLine): string {
  return stepSlug ?? flowSlug ?? functionName ?? 'worker'
}

/** The attempt in parentheses: `(run 01a2b3c4…, attempt 1)`, with the element of a map from the second one on. */
export function attemptWords({ runId, taskIndex = 0, attempt }: WorkerLine): string {
  if (runId === undefined) return ''
  const element = taskIndex > 0 ? `, element ${taskIndex}` : ''
  return `(run ${shortRunId(runId)}${element}, attempt ${attempt})`
}

export function shortRunId(runId: string): string {
  return `${runId.slice(0, 8)}…`
}

/** For a person: what is said first, then the fields that say more than who speaks. */
export function workerLineText(line: WorkerLine): string {
  if (line.event === 'handler.log')
    return [line.message, ...detailsOf(line), attemptWords(line)].filter(Boolean).join('  ')
  if (line.event === 'message.unsupported')
    return `message ${line.messageId} in ${line.queueName} belongs to no task of this worker and is left there. See: npx starflow queues unsupported`
  if (line.event === 'worker.halted')
    return `messages ${(line.messageIds as readonly string[]).join(', ')} in ${line.queueName}: no task of this worker knows them, and its function is disabled. See: npx starflow queues unsupported`
  const {
    level: _,
    event,
    functionName,
    workerId,
    queueName,
    flowSlug,
    stepSlug,
    runId,
    taskIndex,
    attempt,
    ...rest
  } = line
  const { message, code, hint, ...fields } = rest
  const words = [
    event === 'flow.option' ? '' : event,
    typeof message === 'string' ? `${typeof code === 'string' ? `${code}: ` : ''}${message}` : '',
    ...Object.entries(fields).flatMap(([key, value]) => (isEmpty(value) ? [] : [`${key}=${show(value)}`])),
    typeof hint === 'string' ? `(${hint})` : '',
    attemptWords(line),
  ]
  return words.filter(Boolean).join(' ')
}

function detailsOf({ details }: WorkerLine): string[] {
  return Array.isArray(details) ? details.map(show) : []
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}

function show(value: unknown): string {
  if (typeof value === 'string') return value
  const { name, message, stack } = (value ?? {}) as { name?: unknown; message?: unknown; stack?: unknown }
  if (typeof stack === 'string') return `${name}: ${message}`
  return JSON.stringify(value)
}

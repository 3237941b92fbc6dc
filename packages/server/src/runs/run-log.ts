import type { FlowShape, Json, StepShape } from '@starflow/dsl'
import { parseNodeId, type RunEvent } from '@starflow/engine'
import { SHOWN_TASKS } from '../numbers.ts'
import { NodeLog } from './node-log.ts'
import type {
  AttemptOutcome,
  AttemptSpan,
  AttemptView,
  StepState,
  StepView,
  TaskCounts,
  TaskPage,
  TaskState,
  TaskView,
} from './run-placement.ts'

/** What is known of a run beside its log. */
export interface RunFacts {
  /** Undefined where the definition of its flow is not known: then its steps are those that its log names. */
  readonly shape: FlowShape | undefined
  readonly startedAt: string | null
  readonly input: Json
  /** Waits that stand open, by step, and when each times out. */
  readonly waitsDueAt: ReadonlyMap<string, string | null>
}

interface StepLog {
  readonly own: NodeLog
  /** Of a map, by index. */
  readonly elements: Map<number, NodeLog>
}

/** What ends every attempt that is open, and how. */
const CUTS: Readonly<Partial<Record<RunEvent['type'], AttemptOutcome>>> = {
  runner_lost: 'stalled',
  run_released: 'released',
  run_cancelled: 'cancelled',
  run_failed: 'cancelled',
}

/** What a run on a runner has come to, step by step: a fold over its event log. Outputs that are large are not kept. */
export class RunLog {
  readonly #steps = new Map<string, StepLog>()
  cancelReason: string | null = null

  apply(event: RunEvent): void {
    if (event.nodeId !== null) {
      this.#node(event.nodeId).apply(event)
      return
    }
    const cut = CUTS[event.type]
    if (cut !== undefined) for (const node of this.#nodes()) node.cutOff(cut, event.createdAt)
    if (event.type === 'run_cancelled') this.cancelReason = String(event.payload?.reason ?? '')
    if (event.type === 'run_retried') {
      this.cancelReason = null
      for (const node of this.#nodes()) node.reopen()
    }
  }

  /** In the order of the flow. */
  steps(facts: RunFacts): StepView[] {
    const shapes = facts.shape?.steps ?? [...this.#steps].map(([slug, log]) => bareShape(slug, log))
    return shapes.map((shape) => this.#view(shape, facts))
  }

  /** Undefined for a step that the run does not have. */
  tasks(slug: string, facts: RunFacts, page: TaskPage): TaskView[] | undefined {
    const log = this.#steps.get(slug)
    const shape =
      facts.shape?.steps.find((each) => each.slug === slug) ?? (log === undefined ? undefined : bareShape(slug, log))
    if (shape === undefined) return undefined
    const { own, elements } = log ?? untouched()
    const isMap = shape.stepType === 'map'
    const found: TaskView[] = []
    const total = isMap ? this.#total(shape, facts) : 1
    for (let index = (page.after ?? -1) + 1; index < total && found.length < page.limit; index++) {
      const node = isMap ? elements.get(index) : own
      const task = taskView(index, node ?? new NodeLog(), shape, facts)
      if (page.status === undefined || task.status === page.status) found.push(task)
    }
    return found
  }

  #view(shape: StepShape, facts: RunFacts): StepView {
    const { own, elements } = this.#steps.get(shape.slug) ?? untouched()
    const nodes = [own, ...elements.values()]
    const { status, endedAt } = this.#outcomeOf(shape, facts)
    const failed = nodes.findLast((node) => node.failure.error !== null)
    const options = { ...facts.shape?.options, ...shape.options }
    const readyAt = this.#readyAt(shape, facts)
    return {
      step: shape.slug,
      type: shape.stepType,
      dependsOn: shape.dependencies,
      queue: null,
      status,
      tasks: shape.stepType === 'map' ? this.#counts(shape, facts) : null,
      attempts: largest(nodes.map((node) => node.attemptCount)),
      maxAttempts: shape.stepType === 'wait' ? null : (options.maxAttempts ?? null),
      timeoutSeconds: (shape.stepType === 'wait' ? shape.options?.timeout : options.timeout) ?? null,
      readyAt,
      dueAt: dueAt(shape, status, nodes, readyAt, facts),
      startedAt: earliest(nodes.map((node) => node.startedAt)),
      endedAt,
      skipReason: own.skipReason,
      ...(status === 'completed' || failed === undefined ? new NodeLog().failure : failed.failure),
      output: own.output,
      outputBytes: own.outputBytes,
      spans: spansOf(shape, own, elements),
    }
  }

  /** A map has no end in the log, unless it is one over nothing: it has ended when the last of its elements has. */
  #outcomeOf(shape: StepShape, facts: RunFacts): { readonly status: StepState; readonly endedAt: string | null } {
    const { own, elements } = this.#steps.get(shape.slug) ?? untouched()
    const nodes = [own, ...elements.values()]
    const isDone = elements.size > 0 && elements.size === this.#total(shape, facts) && isEvery(elements, 'completed')
    const status = isDone ? 'completed' : statusOf(shape, own, nodes, facts)
    if (own.endedAt !== null || (status !== 'completed' && status !== 'failed')) return { status, endedAt: own.endedAt }
    return { status, endedAt: latest(nodes.map((node) => node.endedAt)) }
  }

  /** Elements that a map has begun, and those that its source says are to come. */
  #total({ slug, dependencies: [source] }: StepShape, facts: RunFacts): number {
    const elements = this.#steps.get(slug)?.elements
    const above = facts.shape?.steps.find((each) => each.slug === source)
    const known =
      source === undefined
        ? lengthOf(facts.input)
        : above?.stepType === 'map'
          ? this.#total(above, facts)
          : this.#steps.get(source)?.own.outputLength
    return largest([known ?? 0, ...[...(elements?.keys() ?? [])].map((index) => index + 1)])
  }

  #counts(shape: StepShape, facts: RunFacts): TaskCounts | null {
    const elements = [...(this.#steps.get(shape.slug)?.elements.values() ?? [])]
    const total = this.#total(shape, facts)
    const count = (status: NodeLog['status']) => elements.filter((node) => node.status === status).length
    const counts = { started: count('started'), completed: count('completed'), failed: count('failed') }
    const cancelled = count('cancelled')
    const queued = total - counts.started - counts.completed - counts.failed - cancelled
    return total === 0 ? null : { total, queued, ...counts }
  }

  /** When the last of what it depends on had ended; of a root step, when the run started. */
  #readyAt({ dependencies }: StepShape, facts: RunFacts): string | null {
    const above = facts.shape?.steps.filter((each) => dependencies.includes(each.slug)) ?? []
    const ends = above.map((each) => this.#outcomeOf(each, facts).endedAt)
    return ends.includes(null) ? null : latest([facts.startedAt, ...ends])
  }

  #node(nodeId: string): NodeLog {
    const { stepSlug, index } = parseNodeId(nodeId)
    const step = this.#steps.get(stepSlug) ?? untouched()
    this.#steps.set(stepSlug, step)
    if (index === undefined) return step.own
    const element = step.elements.get(index) ?? new NodeLog()
    step.elements.set(index, element)
    return element
  }

  *#nodes(): Iterable<NodeLog> {
    for (const { own, elements } of this.#steps.values()) {
      yield own
      yield* elements.values()
    }
  }
}

function statusOf(shape: StepShape, own: NodeLog, nodes: readonly NodeLog[], { waitsDueAt }: RunFacts): StepState {
  if (own.status === 'completed' || own.status === 'skipped') return own.status
  if (nodes.some((node) => node.status === 'failed')) return 'failed'
  if (nodes.every((node) => node.status === 'created')) return 'created'
  // A wait that was resumed is over, also before a runner has gone on with its run.
  return shape.stepType === 'wait' && waitsDueAt.has(shape.slug) ? 'waiting' : 'started'
}

function dueAt(
  { slug, stepType, options }: StepShape,
  status: StepState,
  nodes: readonly NodeLog[],
  readyAt: string | null,
  { waitsDueAt }: RunFacts,
): string | null {
  if (stepType === 'wait') return waitsDueAt.get(slug) ?? null
  if (status === 'started') return earliest(nodes.map((node) => (node.status === 'queued' ? node.dueAt : null)))
  const delay = options?.startDelay ?? 0
  if (status !== 'created' || readyAt === null || delay === 0) return null
  return new Date(Date.parse(readyAt) + delay * 1000).toISOString()
}

function spansOf({ stepType }: StepShape, own: NodeLog, elements: ReadonlyMap<number, NodeLog>): AttemptSpan[] {
  if (stepType === 'wait') return []
  if (stepType !== 'map') return own.attempts.flatMap((attempt) => spanOf(0, attempt))
  return Array.from({ length: SHOWN_TASKS }, (_, index) => elements.get(index)?.attempts ?? []).flatMap(
    (attempts, index) => attempts.flatMap((attempt) => spanOf(index, attempt)),
  )
}

function spanOf(task: number, { attempt, outcome, worker, startedAt, endedAt }: AttemptView): AttemptSpan[] {
  return startedAt === null ? [] : [{ task, attempt, outcome, worker, startedAt, endedAt }]
}

function taskView(task: number, node: NodeLog, { slug, stepType }: StepShape, { waitsDueAt }: RunFacts): TaskView {
  const isOpenWait = stepType === 'wait' && waitsDueAt.has(slug) && node.status !== 'completed'
  const status: TaskState = isOpenWait ? 'waiting' : node.status === 'created' ? 'queued' : node.status
  return {
    task,
    status,
    queuedAt: null,
    startedAt: node.attempts.at(-1)?.startedAt ?? null,
    endedAt: node.endedAt,
    worker: null,
    attempts: stepType === 'wait' ? [] : node.attempts,
    error: node.failure.error,
    outputBytes: node.outputBytes,
  }
}

function bareShape(slug: string, { elements }: StepLog): StepShape {
  return {
    ...{ slug, stepType: elements.size > 0 ? 'map' : 'single', dependencies: [], whenUnmet: 'skip' },
    ...{ whenExhausted: 'fail', requiredInputPattern: { defined: false }, forbiddenInputPattern: { defined: false } },
  }
}

function untouched(): StepLog {
  return { own: new NodeLog(), elements: new Map() }
}

/** A map may have more elements than a call takes arguments. */
function largest(values: readonly number[]): number {
  return values.reduce((most, each) => Math.max(most, each), 0)
}

function lengthOf(value: Json): number | undefined {
  return Array.isArray(value) ? value.length : undefined
}

function isEvery(elements: ReadonlyMap<number, NodeLog>, status: NodeLog['status']): boolean {
  for (const element of elements.values()) if (element.status !== status) return false
  return true
}

function latest(instants: readonly (string | null)[]): string | null {
  return instants.reduce((last, each) => (last === null || (each !== null && each > last) ? each : last), null)
}

function earliest(instants: readonly (string | null)[]): string | null {
  return instants.reduce((first, each) => (first === null || (each !== null && each < first) ? each : first), null)
}

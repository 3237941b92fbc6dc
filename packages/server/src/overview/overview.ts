import { type ListedQueue, type QueueTrouble, queueTroubles } from '@starflow/core/operations'
import type { MirrorLag, QueueingStateAdapter } from '@starflow/engine'
import {
  LIVENESS_KEPT_MS,
  MAX_LISTED_WORKERS,
  MAX_LIVENESS_PROBLEMS,
  OVERVIEW_KEPT_MS,
  OVERVIEW_KEPT_SCOPES,
} from '../numbers.ts'
import type { QueueOperations } from '../runs/queue-operations.ts'
import { SharedAnswer } from '../shared-answer.ts'
import type { Scope } from '../workspace.ts'
import type { LivenessProblem, RunFigures, RunStatistics } from './run-statistics.ts'

export interface OverviewParts {
  readonly statistics: RunStatistics
  readonly operations: QueueOperations | undefined
  readonly adapter: Pick<QueueingStateAdapter, 'listRunners'>
  /** Undefined where nothing is mirrored. */
  readonly measureLag: (() => Promise<MirrorLag>) | undefined
}

/** Of what serves all workspaces. */
export interface SharedFigures {
  readonly queues: { readonly total: number; readonly inTrouble: readonly TroubledQueue[] }
  /** Undefined where there are no step queues. */
  readonly liveWorkers: number | undefined
  readonly runners: { readonly live: number; readonly capacity: number; readonly runs: number }
  readonly lag: MirrorLag | undefined
}

export interface OverviewFigures extends RunFigures, SharedFigures {
  readonly liveness: LivenessAudit
}

export type TroubledQueue = ListedQueue & { readonly troubles: readonly QueueTrouble[] }

export interface LivenessAudit {
  readonly checkedAt: Date
  readonly problems: readonly LivenessProblem[]
}

interface ScopedAnswers {
  readonly figures: SharedAnswer<RunFigures>
  readonly liveness: SharedAnswer<LivenessAudit>
}

/** How all is, at one glance. Whoever looks at the same time is given the same answers. */
export class Overview {
  readonly #parts: OverviewParts
  readonly #shared: SharedAnswer<SharedFigures>
  readonly #scoped = new Map<string, ScopedAnswers>()

  constructor(parts: OverviewParts) {
    this.#parts = parts
    this.#shared = new SharedAnswer(() => this.#readShared(), OVERVIEW_KEPT_MS)
  }

  async read(scope: Scope): Promise<OverviewFigures> {
    const { figures, liveness } = this.#of(scope)
    const [shared, runs, audit] = await Promise.all([this.#shared.get(), figures.get(), liveness.get()])
    return { ...shared, ...runs, liveness: audit }
  }

  async #readShared() {
    const { operations, adapter, measureLag } = this.#parts
    const [queues, workers, runners, lag] = await Promise.all([
      operations?.queues(),
      operations?.workers({ all: false, limit: MAX_LISTED_WORKERS }),
      adapter.listRunners(),
      measureLag?.(),
    ])
    const live = runners.filter((runner) => runner.isLive)
    return {
      queues: { total: queues?.length ?? 0, inTrouble: (queues ?? []).flatMap(troubled) },
      liveWorkers: workers?.filter((worker) => worker.state === 'live').length,
      runners: { live: live.length, capacity: sum(live, 'capacity'), runs: sum(live, 'runs') },
      lag,
    }
  }

  #of(scope: Scope): ScopedAnswers {
    const key = scope === 'every' ? '*' : scope.workspaceId
    const known = this.#scoped.get(key)
    if (known !== undefined) return known
    const { statistics } = this.#parts
    const answers: ScopedAnswers = {
      figures: new SharedAnswer(() => statistics.read(scope), OVERVIEW_KEPT_MS),
      liveness: new SharedAnswer(
        async () => ({
          checkedAt: new Date(),
          problems: await statistics.auditLiveness(scope, MAX_LIVENESS_PROBLEMS),
        }),
        LIVENESS_KEPT_MS,
      ),
    }
    if (this.#scoped.size >= OVERVIEW_KEPT_SCOPES) this.#scoped.clear()
    this.#scoped.set(key, answers)
    return answers
  }
}

function troubled(queue: ListedQueue): TroubledQueue[] {
  const troubles = queueTroubles(queue)
  return troubles.length === 0 ? [] : [{ ...queue, troubles }]
}

function sum<TKey extends string>(items: readonly Readonly<Record<TKey, number>>[], key: TKey): number {
  return items.reduce((total, item) => total + item[key], 0)
}

import type { AlertRule } from '../alerts/alert-rules.ts'
import type {
  AlertFacts,
  AlertLook,
  AlertOutcome,
  AlertStore,
  ProblemChange,
  TakenMessage,
  ToldProblem,
} from '../store/alert-store.ts'
import type { SqlFunctions } from './sql-functions.ts'

interface ChangeRow {
  readonly problem_id: string
  readonly rule: AlertRule
  readonly subject: string
  readonly change: ProblemChange['change']
  readonly facts: AlertFacts
}

interface MessageRow {
  readonly message_id: string
  readonly webhook: string
  readonly problems: readonly ToldProblem[]
  readonly created_at: string
  readonly attempt: number
}

/** The store in Postgres: each method is one call of one SQL function. */
export class PostgresAlertStore implements AlertStore {
  readonly #call: SqlFunctions

  constructor(call: SqlFunctions) {
    this.#call = call
  }

  async look({ rules, webhooks, groupMs, resolveAfterMs }: AlertLook): Promise<readonly ProblemChange[]> {
    const rows = (await this.#call('look_for_problems', {
      ...{ rules, webhooks, group_ms: groupMs, resolve_after_ms: resolveAfterMs },
    })) as ChangeRow[]
    return rows.map(({ problem_id, ...rest }) => ({ problemId: problem_id, ...rest }))
  }

  async takeMessages(webhooks: readonly string[], leaseMs: number): Promise<readonly TakenMessage[]> {
    const rows = (await this.#call('take_alert_messages', { webhooks, lease_ms: leaseMs })) as MessageRow[]
    return rows.map(({ message_id, webhook, problems, created_at, attempt }) => ({
      ...{ messageId: message_id, webhook, attempt, createdAt: iso(created_at) },
      problems: problems.map((problem) => ({
        ...problem,
        openedAt: iso(problem.openedAt),
        resolvedAt: problem.resolvedAt === null ? null : iso(problem.resolvedAt),
      })),
    }))
  }

  async settleMessage({ messageId, attempt }: TakenMessage, settled: AlertOutcome): Promise<void> {
    await this.#call('settle_alert_message', {
      ...{ message_id: messageId, attempt },
      outcome: settled.outcome === 'later' ? null : settled.outcome,
      retry_ms: settled.outcome === 'later' ? settled.retryMs : null,
    })
  }

  async pruneAlerts(olderThanMs: number): Promise<void> {
    await this.#call('prune_alerts', { older_than_ms: olderThanMs })
  }
}

function iso(instant: string): string {
  return new Date(instant).toISOString()
}

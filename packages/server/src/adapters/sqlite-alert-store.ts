import { randomUUID } from 'node:crypto'
import type { QueueingStateAdapter } from '@starflow/engine'
import Database from 'libsql'
import type { AlertRule } from '../alerts/alert-rules.ts'
import { MAX_COUNTED_UNSERVED_RUNS, MAX_PROBLEMS_IN_MESSAGE, SQLITE_BUSY_TIMEOUT_MS } from '../numbers.ts'
import type {
  AlertFacts,
  AlertLook,
  AlertOutcome,
  AlertStore,
  ProblemChange,
  TakenMessage,
  ToldProblem,
} from '../store/alert-store.ts'

/** As the tables of band 75_server; instants are milliseconds since 1970. */
const TABLES = `
create table if not exists alert_problems (
  problem_id text not null primary key,
  rule text not null,
  subject text not null,
  facts text not null,
  seen_at integer not null,
  last_seen_at integer not null,
  opened_at integer,
  resolved_at integer
) strict;
create unique index if not exists alert_problems_unresolved_key on alert_problems (rule, subject) where resolved_at is null;
create table if not exists alert_messages (
  message_id text not null primary key,
  webhook text not null,
  problems text not null,
  created_at integer not null,
  attempts integer not null default 0,
  next_attempt_at integer,
  settled_at integer,
  outcome text check (outcome in ('sent', 'given_up'))
) strict;
create table if not exists alert_notices (
  problem_id text not null references alert_problems (problem_id) on delete cascade,
  change text not null check (change in ('opened', 'resolved')),
  webhook text not null,
  message_id text,
  primary key (problem_id, change, webhook)
) strict;
create index if not exists alert_failed_runs_idx on workflow_runs (completed_at) where status = 'error';
create index if not exists alert_lost_runners_idx on workflow_run_events (created_at) where event_type = 'runner_lost';
`

interface ProblemRow {
  readonly problem_id: string
  readonly rule: AlertRule
  readonly subject: string
  readonly facts: string
  readonly seen_at: number
  readonly last_seen_at: number
  readonly opened_at: number | null
  readonly resolved_at: number | null
}

interface Observation {
  readonly rule: AlertRule
  readonly subject: string
  readonly facts: AlertFacts
}

/** The store in the state file of a local installation, which has neither queues of steps nor a warm tier. Its clock is that of the machine. */
export class SqliteAlertStore implements AlertStore {
  readonly #database: Database.Database
  readonly #adapter: Pick<QueueingStateAdapter, 'listUnservedRuns'>
  readonly #now: () => number

  constructor(path: string, adapter: Pick<QueueingStateAdapter, 'listUnservedRuns'>, now: () => number = Date.now) {
    this.#database = new Database(path, { timeout: SQLITE_BUSY_TIMEOUT_MS })
    this.#database.exec(`pragma foreign_keys = on; ${TABLES}`)
    this.#adapter = adapter
    this.#now = now
  }

  async look(look: AlertLook): Promise<readonly ProblemChange[]> {
    const observed = await this.#observe(look)
    return this.#write((now) => {
      this.#keep(observed, now)
      const changes = [...this.#open(look, now), ...this.#resolve(look, now)]
      const notice = this.#database.prepare('insert into alert_notices (problem_id, change, webhook) values (?, ?, ?)')
      for (const [webhook, rules] of Object.entries(look.webhooks)) {
        for (const { problemId, rule, change } of changes) {
          if (rules.includes(rule)) notice.run(problemId, change, webhook)
        }
        this.#writeMessage(webhook, look.groupMs, now)
      }
      return changes
    })
  }

  async takeMessages(webhooks: readonly string[], leaseMs: number): Promise<readonly TakenMessage[]> {
    return this.#write((now) => {
      const rows = this.#database
        .prepare(
          'select * from alert_messages where settled_at is null and next_attempt_at <= ? order by created_at limit 20',
        )
        .all(now) as { message_id: string; webhook: string; problems: string; created_at: number; attempts: number }[]
      const take = this.#database.prepare(
        'update alert_messages set attempts = attempts + 1, next_attempt_at = ? where message_id = ?',
      )
      return rows
        .filter(({ webhook }) => webhooks.includes(webhook))
        .map(({ message_id, webhook, problems, created_at, attempts }) => {
          take.run(now + leaseMs, message_id)
          return {
            ...{ messageId: message_id, webhook, attempt: attempts + 1, createdAt: new Date(created_at).toISOString() },
            problems: JSON.parse(problems) as ToldProblem[],
          }
        })
    })
  }

  async settleMessage({ messageId, attempt }: TakenMessage, settled: AlertOutcome): Promise<void> {
    this.#write((now) =>
      this.#database
        .prepare(
          `update alert_messages set outcome = ?, settled_at = ?, next_attempt_at = ?
           where message_id = ? and attempts = ? and settled_at is null`,
        )
        .run(
          settled.outcome === 'later' ? null : settled.outcome,
          settled.outcome === 'later' ? null : now,
          settled.outcome === 'later' ? now + settled.retryMs : null,
          ...[messageId, attempt],
        ),
    )
  }

  async pruneAlerts(olderThanMs: number): Promise<void> {
    this.#write((now) => {
      this.#database.prepare('delete from alert_problems where resolved_at < ?').run(now - olderThanMs)
      this.#database.prepare('delete from alert_messages where created_at < ?').run(now - olderThanMs)
    })
  }

  close(): void {
    this.#database.close()
  }

  async #observe({ rules }: AlertLook): Promise<Observation[]> {
    const { failedRuns, stalls, unservedRuns } = rules
    const observed: Observation[] = []
    if (failedRuns !== undefined) {
      const failed = this.#grouped(
        "select template_id as subject, id as run_id from workflow_runs where status = 'error' and completed_at > ? order by completed_at desc",
        failedRuns.withinMs,
      )
      for (const [subject, runIds] of failed) {
        if (runIds.length < failedRuns.atLeast || failedRuns.flows?.includes(subject) === false) continue
        observed.push({ rule: 'failedRuns', subject, facts: { runs: runIds.length, runIds: runIds.slice(0, 5) } })
      }
    }
    if (stalls !== undefined) {
      const lost = this.#grouped(
        `select r.template_id as subject, r.id as run_id from workflow_run_events e join workflow_runs r on r.id = e.run_id
         where e.event_type = 'runner_lost' and e.created_at > ? order by e.id desc`,
        stalls.withinMs,
      )
      for (const [subject, runIds] of lost) {
        if (runIds.length < stalls.atLeast) continue
        const facts = { stalledTasks: 0, lostRunners: runIds.length, runIds: runIds.slice(0, 5) }
        observed.push({ rule: 'stalls', subject, facts })
      }
    }
    if (unservedRuns === undefined) return observed
    const unserved = await this.#adapter.listUnservedRuns({ limit: MAX_COUNTED_UNSERVED_RUNS })
    for (const [subject, runs] of grouped(unserved, ({ runnerPool }) => runnerPool ?? 'no pool')) {
      const runIds = runs.slice(0, 5).map(({ runId }) => runId)
      observed.push({
        ...{ rule: 'unservedRuns', subject },
        facts: { runs: runs.length, reason: runs[0]!.reason, runIds },
      })
    }
    return observed
  }

  /** Run ids by subject. */
  #grouped(query: string, withinMs: number): ReadonlyMap<string, string[]> {
    const rows = this.#database.prepare(query).all(this.#now() - withinMs) as { subject: string; run_id: string }[]
    return new Map(
      [...grouped(rows, ({ subject }) => subject)].map(([subject, own]) => [subject, own.map((row) => row.run_id)]),
    )
  }

  #keep(observed: readonly Observation[], now: number): void {
    const keep = this.#database.prepare(
      `insert into alert_problems (problem_id, rule, subject, facts, seen_at, last_seen_at) values (?, ?, ?, ?, ?, ?)
       on conflict (rule, subject) where resolved_at is null do update set facts = excluded.facts, last_seen_at = excluded.last_seen_at`,
    )
    for (const { rule, subject, facts } of observed) {
      keep.run(randomUUID(), rule, subject, JSON.stringify(facts), now, now)
    }
    this.#database.prepare('delete from alert_problems where opened_at is null and last_seen_at < ?').run(now)
  }

  #open({ rules }: AlertLook, now: number): ProblemChange[] {
    const pending = this.#problems('opened_at is null').filter(({ rule, seen_at }) => {
      const settings = rules[rule]
      return seen_at <= now - (settings !== undefined && 'graceMs' in settings ? settings.graceMs : 0)
    })
    return this.#change(pending, 'opened', now)
  }

  #resolve({ resolveAfterMs }: AlertLook, now: number): ProblemChange[] {
    const over = this.#problems('opened_at is not null and resolved_at is null').filter(
      ({ last_seen_at }) => last_seen_at < now && last_seen_at <= now - resolveAfterMs,
    )
    return this.#change(over, 'resolved', now)
  }

  #change(rows: readonly ProblemRow[], change: ProblemChange['change'], now: number): ProblemChange[] {
    const update = this.#database.prepare(`update alert_problems set ${change}_at = ? where problem_id = ?`)
    return rows.map(({ problem_id, rule, subject, facts }) => {
      update.run(now, problem_id)
      return { problemId: problem_id, rule, subject, change, facts: JSON.parse(facts) as AlertFacts }
    })
  }

  #writeMessage(webhook: string, groupMs: number, now: number): void {
    const recent = this.#database
      .prepare('select 1 from alert_messages where webhook = ? and created_at > ?')
      .get(webhook, now - groupMs)
    if (recent !== undefined) return
    const told = this.#database
      .prepare(
        `select p.*, max(n.change = 'resolved') as is_resolved from alert_notices n join alert_problems p on p.problem_id = n.problem_id
         where n.webhook = ? and n.message_id is null group by p.problem_id order by p.opened_at, p.problem_id limit ?`,
      )
      .all(webhook, MAX_PROBLEMS_IN_MESSAGE) as (ProblemRow & { is_resolved: number })[]
    if (told.length === 0) return
    const messageId = randomUUID()
    const problems = told.map(({ problem_id, rule, subject, facts, opened_at, resolved_at, is_resolved }) => ({
      ...{
        problemId: problem_id,
        rule,
        subject,
        facts: JSON.parse(facts),
        openedAt: new Date(opened_at!).toISOString(),
      },
      resolvedAt: is_resolved === 1 ? new Date(resolved_at!).toISOString() : null,
    }))
    this.#database
      .prepare(
        'insert into alert_messages (message_id, webhook, problems, created_at, next_attempt_at) values (?, ?, ?, ?, ?)',
      )
      .run(messageId, webhook, JSON.stringify(problems), now, now)
    const mark = this.#database.prepare(
      'update alert_notices set message_id = ? where problem_id = ? and webhook = ? and message_id is null',
    )
    for (const { problem_id } of told) mark.run(messageId, problem_id, webhook)
  }

  #problems(condition: string): ProblemRow[] {
    return this.#database.prepare(`select * from alert_problems where ${condition}`).all() as ProblemRow[]
  }

  #write<T>(work: (now: number) => T): T {
    this.#database.exec('begin immediate')
    try {
      const result = work(this.#now())
      this.#database.exec('commit')
      return result
    } catch (error) {
      this.#database.exec('rollback')
      throw error
    }
  }
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

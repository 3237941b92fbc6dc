import type { ActiveRules, AlertRule } from '../alerts/alert-rules.ts'

/** What was found at a place: counts, durations, reasons and identifiers. Never what runs were given, or the text of an error. */
export type AlertFacts = Readonly<Record<string, string | number | null | readonly string[]>>

/** A problem that has just been opened, or is over. */
export interface ProblemChange {
  readonly problemId: string
  readonly rule: AlertRule
  /** The flow, queue or pool that has it. */
  readonly subject: string
  readonly change: 'opened' | 'resolved'
  readonly facts: AlertFacts
}

/** A problem as a message tells it. */
export interface ToldProblem {
  readonly problemId: string
  readonly rule: AlertRule
  readonly subject: string
  readonly facts: AlertFacts
  readonly openedAt: string
  /** Null: it goes on. */
  readonly resolvedAt: string | null
}

/** A message that this process is to send now. */
export interface TakenMessage {
  readonly messageId: string
  readonly webhook: string
  readonly createdAt: string
  readonly problems: readonly ToldProblem[]
  readonly attempt: number
}

export type AlertOutcome =
  | { readonly outcome: 'sent' | 'given_up' }
  | { readonly outcome: 'later'; readonly retryMs: number }

/**
 * What is wrong, and who was told. A problem is there once, and each change of it is told to a webhook once, however many processes
 * look: rows that are unique say so.
 */
export interface AlertStore {
  /** Looks, keeps what has changed with whom to tell, and writes messages where one is due. Answers the changes that this call has found. */
  look(look: AlertLook): Promise<readonly ProblemChange[]>
  /** Messages that are due. They are the caller's for so long. */
  takeMessages(webhooks: readonly string[], leaseMs: number): Promise<readonly TakenMessage[]>
  settleMessage(message: Pick<TakenMessage, 'messageId' | 'attempt'>, outcome: AlertOutcome): Promise<void>
  /** Forgets what is as old as this. */
  pruneAlerts(olderThanMs: number): Promise<void>
}

export interface AlertLook {
  readonly rules: ActiveRules
  /** Which rules each webhook is told of. */
  readonly webhooks: Readonly<Record<string, readonly AlertRule[]>>
  readonly groupMs: number
  readonly resolveAfterMs: number
}

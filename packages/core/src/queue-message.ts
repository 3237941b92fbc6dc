import type { Json } from '@starflow/dsl'
import { storableText } from './storable-text.ts'

/** A message of a queue without a flow, as one read of it: whoever reads a message holds it until somebody reads it again. */
export interface MessageIdentity {
  /** Decimal digits: message ids outgrow a JavaScript number. */
  readonly messageId: string
  /** How often the message has been read: the fencing token that every report carries back. */
  readonly attempt: number
}

/** A message that this worker holds until it settles it, or until its visibility has passed. */
export interface ClaimedMessage extends MessageIdentity {
  /** How many of its reads were given back before a handler began. */
  readonly forgivenCount: number
  /** ISO 8601. */
  readonly enqueuedAt: string
  readonly message: Json
  readonly headers: Json | null
}

/** What becomes of a message: archived, tried again, moved to the dead letters, or given back so that the read does not count. */
export type MessageReport = MessageIdentity &
  (
    | { readonly status: 'completed' }
    /** Default of the delay: 0. */
    | { readonly status: 'released'; readonly retryDelaySeconds?: number }
    | { readonly status: 'retry'; readonly retryDelaySeconds: number }
    | {
        readonly status: 'dead'
        readonly errorMessage: string
        readonly error?: { readonly name?: string; readonly stack?: string }
      }
  )

/** A report that was not accepted; it changed nothing. */
export interface RefusedMessage {
  readonly messageId: string
  readonly reason: string
}

/** Reports as `settle_and_read` takes them. */
export function messageReportsJson(reports: readonly MessageReport[]): string {
  return JSON.stringify(
    reports.map((report) => ({
      message_id: report.messageId,
      read_count: report.attempt,
      status: report.status,
      ...('retryDelaySeconds' in report ? { retry_delay: report.retryDelaySeconds } : {}),
      ...(report.status === 'dead'
        ? {
            error_message: storableText(report.errorMessage),
            error: { name: storableText(report.error?.name), stack: storableText(report.error?.stack) },
          }
        : {}),
    })),
  )
}

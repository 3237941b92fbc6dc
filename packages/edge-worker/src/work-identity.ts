/** Names one attempt of one task. */
export interface TaskIdentity {
  readonly runId: string
  readonly stepSlug: string
  readonly taskIndex: number
  readonly attempt: number
}

/** Names one attempt at one message of a queue without a flow. */
export interface MessageIdentity {
  readonly messageId: string
  readonly attempt: number
}

export type WorkIdentity = TaskIdentity | MessageIdentity

/** What an attempt is at. */
export type WorkSubject = Omit<TaskIdentity, 'attempt'> | Omit<MessageIdentity, 'attempt'>

/** The fencing part of claimed work: which attempt of what. */
export function attemptOf(work: WorkIdentity): WorkIdentity {
  return 'runId' in work
    ? { runId: work.runId, stepSlug: work.stepSlug, taskIndex: work.taskIndex, attempt: work.attempt }
    : { messageId: work.messageId, attempt: work.attempt }
}

/** Only what names it: neither its attempt nor, in a log, anything else. */
export function subjectOf(work: WorkSubject): WorkSubject {
  return 'runId' in work
    ? { runId: work.runId, stepSlug: work.stepSlug, taskIndex: work.taskIndex }
    : { messageId: work.messageId }
}

/** The kinds of things of which a hint may say that something has changed. */
export const LIVE_KINDS = ['runs', 'queues', 'workers', 'functions', 'waits', 'flows', 'runners'] as const
export type LiveKind = (typeof LIVE_KINDS)[number]

/** A text for each kind, and for each run that is watched, which is another one after something of it has changed. */
export interface LiveMarks {
  readonly kinds: Readonly<Record<LiveKind, string>>
  readonly runs: ReadonlyMap<string, string>
}

/** Where marks come from. A read is one cheap look. */
export interface LiveMarksSource {
  read(runIds: readonly string[]): Promise<LiveMarks>
}

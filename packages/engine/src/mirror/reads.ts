/** The system of record, or the live overlay of it, which may be a second or two late. */
export type Tier = 'cold' | 'warm'

/** Where an operation reads, and where it writes; null: it writes nothing. */
export interface Authority {
  readonly read: Tier
  readonly write: Tier | null
  readonly why: string
}

/**
 * The authority table. If being wrong has consequences, read cold; if being a second or two late is fine, read warm. An answer of the
 * warm tier says up to when it knows everything (`asOf`).
 */
export const AUTHORITY = {
  resumeRun: { read: 'cold', write: null, why: 'What has been done already decides what is done next.' },
  reconcileRuns: { read: 'cold', write: 'cold', why: 'A run must be taken from a lost runner, and from no other.' },
  listRuns: { read: 'cold', write: null, why: 'History is complete, or it is none.' },
  showRun: { read: 'cold', write: null, why: 'Inputs, outputs and errors are nowhere else.' },
  auditRun: { read: 'cold', write: null, why: 'Nobody may be billed or blamed for a state that was late.' },
  liveStatus: { read: 'warm', write: null, why: 'Whoever watches is told of the next change anyway.' },
  discoverPeers: {
    read: 'warm',
    write: 'cold',
    why: 'What a peer does right now is a hint; what follows is written cold.',
  },
  reportProgress: { read: 'warm', write: 'warm', why: 'There is too much of it, and nothing depends on it.' },
} as const satisfies Readonly<Record<string, Authority>>

export type Operation = keyof typeof AUTHORITY

/** What a thing is, by its colour. */
export type Tone = 'quiet' | 'active' | 'good' | 'bad' | 'warn' | 'held'

interface StatusLook {
  /** As it is called everywhere. */
  readonly word: string
  readonly tone: Tone
  /** On a field of 10 by 10, filled. */
  readonly mark: string
}

const RING = 'M5 1a4 4 0 1 0 0 8a4 4 0 1 0 0-8M5 2.5a2.5 2.5 0 1 1 0 5a2.5 2.5 0 1 1 0-5z'
const DISC = 'M5 1.25a3.75 3.75 0 1 0 0 7.5a3.75 3.75 0 1 0 0-7.5z'
const HALF = 'M5 1a4 4 0 1 0 0 8a4 4 0 1 0 0-8M5 2.5v5a2.5 2.5 0 1 1 0-5z'
const TICK = 'M8.7 1.9L9.9 3.1L4.2 8.8L.9 5.5L2.1 4.3L4.2 6.4z'
const CROSS = 'M1.9.9L5 3.9L8.1.9L9.1 1.9L6.1 5L9.1 8.1L8.1 9.1L5 6.1L1.9 9.1L.9 8.1L3.9 5L.9 1.9z'
const BARS = 'M2 1.5h2.25v7h-2.25zM5.75 1.5h2.25v7h-2.25z'
const DASH = 'M1 4.1h8v1.8h-8z'
const SLASH = 'M7.9.9L9.1 2.1L2.1 9.1L.9 7.9z'
const TRIANGLE = 'M5 .75L9.75 9.25H.25z'

const LOOKS = {
  // Runs.
  queued: { word: 'queued', tone: 'quiet', mark: RING },
  running: { word: 'running', tone: 'active', mark: HALF },
  paused: { word: 'paused', tone: 'held', mark: BARS },
  success: { word: 'success', tone: 'good', mark: TICK },
  error: { word: 'error', tone: 'bad', mark: CROSS },
  cancelled: { word: 'cancelled', tone: 'quiet', mark: SLASH },
  // Steps and tasks.
  created: { word: 'created', tone: 'quiet', mark: RING },
  started: { word: 'started', tone: 'active', mark: HALF },
  waiting: { word: 'waiting', tone: 'held', mark: BARS },
  completed: { word: 'completed', tone: 'good', mark: TICK },
  failed: { word: 'failed', tone: 'bad', mark: CROSS },
  skipped: { word: 'skipped', tone: 'quiet', mark: DASH },
  // Attempts; and queues with stalled tasks.
  stalled: { word: 'stalled', tone: 'warn', mark: TRIANGLE },
  released: { word: 'released', tone: 'quiet', mark: DASH },
  // Workers and runners.
  live: { word: 'live', tone: 'good', mark: DISC },
  finishing: { word: 'finishing', tone: 'warn', mark: HALF },
  silent: { word: 'silent', tone: 'bad', mark: CROSS },
  stopped: { word: 'stopped', tone: 'quiet', mark: DASH },
  claimed: { word: 'claimed', tone: 'active', mark: RING },
  // Worker functions.
  enabled: { word: 'enabled', tone: 'good', mark: DISC },
  disabled: { word: 'disabled', tone: 'quiet', mark: DASH },
  fenced: { word: 'fenced', tone: 'held', mark: BARS },
  // Queues.
  covered: { word: 'covered', tone: 'good', mark: DISC },
  idle: { word: 'idle, no worker', tone: 'quiet', mark: RING },
  uncovered: { word: 'no worker', tone: 'bad', mark: TRIANGLE },
  gone: { word: 'queue is gone', tone: 'bad', mark: CROSS },
  overdue: { word: 'waits over 1 m', tone: 'warn', mark: TRIANGLE },
  unsupported: { word: 'unsupported', tone: 'warn', mark: TRIANGLE },
} as const satisfies Readonly<Record<string, StatusLook>>

export type StatusName = keyof typeof LOOKS

export function statusLook(status: StatusName): StatusLook {
  return LOOKS[status]
}

/** What a process serves and does, by its role: the table of the runbook, row by row. */
export interface RoleTraits {
  /** `full`: the API, the dashboard and health. `health`: /health and /readyz only; and /metrics, with a token of its own. */
  readonly http: 'full' | 'health'
  /** Takes webhooks in. */
  readonly webhooks: boolean
  /** Fires scheduled triggers. */
  readonly cron: boolean
  /** Claims queued runs and executes them. */
  readonly claimLoop: boolean
}

/** An edge enqueues runs and never executes one; a runner executes and serves nothing else; `both` is one process for all. */
export const ROLES = {
  edge: { http: 'full', webhooks: true, cron: true, claimLoop: false },
  runner: { http: 'health', webhooks: false, cron: false, claimLoop: true },
  both: { http: 'full', webhooks: true, cron: true, claimLoop: true },
} as const satisfies Readonly<Record<string, RoleTraits>>

export type Role = keyof typeof ROLES

export const ROLE_NAMES = Object.keys(ROLES) as readonly Role[]

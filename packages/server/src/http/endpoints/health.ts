import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { READY_TIMEOUT_MS } from '../../numbers.ts'
import type { Readiness } from '../../readiness.ts'
import { ROLE_NAMES, type Role } from '../../roles.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'

/** What a process tells of itself to whoever asks. Nothing in it is secret. */
export interface ProcessIdentity {
  readonly role: Role
  readonly serviceId: string
  /** Under which heartbeats are reported. */
  readonly heartbeatWorkspace: string
  readonly substrate: string
  readonly databaseId: string
  readonly runnerId: string | undefined
  readonly runnerPool: string | undefined
  readonly version: string
}

export interface HealthParts {
  readonly identity: ProcessIdentity
  readonly readiness: Readiness
  /** Reaches what is kept, by each way that this process uses, and can write there; or throws. */
  readonly probe: () => Promise<void>
  /** Whether runs are claimed; undefined where that is not of the role. */
  readonly isClaiming: (() => boolean) | undefined
  readonly activeRuns: () => number
}

/** `/health` says what this process is, `/readyz` whether to send it requests. */
export function healthEndpoints(parts: HealthParts): Endpoint[] {
  const { identity, readiness, activeRuns, isClaiming } = parts
  const isReachable = onceAtATime(() => answersInTime(parts.probe))
  const tag = 'Health'
  return [
    endpoint({
      ...{ id: 'health', method: 'get', path: '/health', tag, access: 'public' },
      summary: 'Say what this process is',
      answers: {
        200: {
          description: 'The process lives. Processes that belong together show the same database id.',
          schema: z.object({
            status: z.enum(['starting', 'ready', 'draining']),
            role: z.enum(ROLE_NAMES),
            service: z.string(),
            workspace: z.string().describe('Under which heartbeats are reported.'),
            substrate: z.string(),
            databaseId: z.string(),
            runner: z.object({ runnerId: z.string(), pool: z.string().nullable(), activeRuns: z.int() }).nullable(),
            version: z.string(),
          }),
        },
      },
      handle: async () => ({
        status: 200,
        body: {
          status: readiness.state,
          role: identity.role,
          service: identity.serviceId,
          workspace: identity.heartbeatWorkspace,
          substrate: identity.substrate,
          databaseId: identity.databaseId,
          runner:
            identity.runnerId === undefined
              ? null
              : { runnerId: identity.runnerId, pool: identity.runnerPool ?? null, activeRuns: activeRuns() },
          version: identity.version,
        },
      }),
    }),
    endpoint({
      ...{ id: 'readyz', method: 'get', path: '/readyz', tag, access: 'public' },
      summary: 'Say whether to send this process requests',
      answers: {
        200: { description: 'It is ready.', schema: z.object({ status: z.literal('ready') }) },
        503: {
          description:
            'It starts, it ends, its database did not answer or cannot be written to (`no_database`), or it is meant to claim runs and cannot (`not_claiming`).',
          schema: z.object({ status: z.enum(['starting', 'draining', 'no_database', 'not_claiming']) }),
        },
      },
      handle: async () => {
        if (readiness.state !== 'ready') return { status: 503, body: { status: readiness.state } }
        if (!(await isReachable())) return { status: 503, body: { status: 'no_database' } }
        if (isClaiming?.() === false) return { status: 503, body: { status: 'not_claiming' } }
        return { status: 200, body: { status: 'ready' } }
      },
    }),
  ]
}

async function answersInTime(probe: () => Promise<void>): Promise<boolean> {
  const late = new AbortController()
  const answered = probe().then(
    () => true,
    () => false,
  )
  const isLate = pause(READY_TIMEOUT_MS, false, { signal: late.signal }).catch(() => false)
  return await Promise.race([answered, isLate]).finally(() => late.abort())
}

/** A request while an answer is on its way gets the same answer: a probe that hangs is not followed by more of them. */
function onceAtATime<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined
    })
    return asked
  }
}

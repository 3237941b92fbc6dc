import { z } from 'zod'
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
  /** Reaches the database, or throws. */
  readonly probe: () => Promise<void>
  readonly activeRuns: () => number
}

/** `/health` says what this process is, `/readyz` whether to send it requests. */
export function healthEndpoints(parts: HealthParts): Endpoint[] {
  const { identity, readiness, probe, activeRuns } = parts
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
          description: 'It starts, it ends, or it does not reach its database.',
          schema: z.object({ status: z.enum(['starting', 'draining', 'no_database']) }),
        },
      },
      handle: async () => {
        if (readiness.state !== 'ready') return { status: 503, body: { status: readiness.state } }
        const isReachable = await probe().then(
          () => true,
          () => false,
        )
        return isReachable
          ? { status: 200, body: { status: 'ready' } }
          : { status: 503, body: { status: 'no_database' } }
      },
    }),
  ]
}

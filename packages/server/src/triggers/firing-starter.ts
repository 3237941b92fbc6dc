import { isStarflowError, type StarflowError } from '@starflow/errors'
import { statusOf } from '../http/error-status.ts'
import { errorFields, type ServerLog } from '../log.ts'
import { FIRING_BATCH, UNSTARTED_AFTER_MS } from '../numbers.ts'
import type { RunDirectory } from '../runs/run-directory.ts'
import type { TriggerStore } from '../store/trigger-store.ts'
import { type Firing, idempotencyKeyOf } from './firing.ts'

/**
 * Starts the runs of recorded firings. A start and the note of it are two writes: when a process ends between them the start is
 * repeated by another one, with the same idempotency key, and is given the run that is there.
 */
export class FiringStarter {
  readonly #store: TriggerStore
  readonly #runs: Pick<RunDirectory, 'start'>
  readonly #log: ServerLog

  constructor(options: {
    readonly store: TriggerStore
    readonly runs: Pick<RunDirectory, 'start'>
    readonly log: ServerLog
  }) {
    this.#store = options.store
    this.#runs = options.runs
    this.#log = options.log
  }

  /**
   * Starts the run of a firing, once however often it is called.
   *
   * @throws StarflowError what the start is refused with, which the firing then keeps; anything else leaves it recorded, and it
   *   is started later
   */
  async start(firing: Pick<Firing, 'workspaceId' | 'kind' | 'name' | 'occurrence' | 'start'>): Promise<string> {
    const { workspaceId, kind, name: trigger, start } = firing
    const { flow: flowSlug, input, env, placement, pool } = start
    try {
      const { runId, created } = await this.#runs.start({
        ...{ workspaceId, env, flowSlug, input, placement, delayMs: 0 },
        pool: pool ?? undefined,
        idempotencyKey: idempotencyKeyOf(firing),
      })
      await this.#store.settleFiring(firing, { status: 'started', runId })
      this.#log.info({ trigger, kind, workspace: workspaceId, flow: flowSlug, runId, created }, 'trigger.fired')
      return runId
    } catch (error) {
      if (isRefusal(error)) {
        await this.#store.settleFiring(firing, { status: 'refused', code: error.code })
        this.#log.error({ trigger, kind, workspace: workspaceId, flow: flowSlug, code: error.code }, 'trigger.refused')
      }
      throw error
    }
  }

  /** Starts what was recorded a while ago and never started: by a process that is gone, or while the database was away. */
  async startForgotten(workspaceId: string, olderThanMs = UNSTARTED_AFTER_MS): Promise<void> {
    for (const firing of await this.#store.unstartedFirings(workspaceId, olderThanMs, FIRING_BATCH)) {
      await this.start(firing).catch((error: unknown) => {
        if (!isRefusal(error)) this.#log.warn({ ...errorFields(error), trigger: firing.name }, 'trigger.start_failed')
      })
    }
  }
}

/** The start itself is impossible, and would be so again. */
function isRefusal(error: unknown): error is StarflowError {
  return isStarflowError(error) && statusOf(error.code) < 500
}

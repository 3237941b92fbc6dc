import { StarflowError } from '@starflow/errors'

/** The reason of `ctx.shutdownSignal` (SF408). A handler that ends with it is given back instead of failed. */
export class WorkerShutdownError extends StarflowError {
  constructor(reason: string) {
    super({
      code: 'SF408',
      message: `The worker is shutting down (${reason}).`,
      detail: 'A worker that shuts down claims nothing more, and waits a moment for handlers that are running.',
      hint: 'The task is given back and runs again on another worker.',
      fields: { reason },
    })
  }
}

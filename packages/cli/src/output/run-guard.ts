const TELL_EVERY_MS = 1000

/**
 * Tells the process that watches `starflow run` (bin/guarded-run.mjs) that this one lives: at once and then every second, which a
 * handler that never yields prevents. Without that process it does nothing. Its end, however it comes, is the end of this one.
 *
 * @param limits the run, whether it outlives this process, and the longest time that a step of it may take
 * @returns says that the run is over and stops telling: what the process still does is not a handler's
 */
export function tellRunGuard(limits: {
  readonly runId: string
  readonly isKept: boolean
  readonly longestTimeoutSeconds: number
}): () => void {
  if (process.env.STARFLOW_RUN_GUARD === undefined || process.send === undefined) return () => {}
  const onGone = () => process.kill(process.pid, 'SIGKILL')
  process.once('disconnect', onGone)
  process.channel?.unref()
  process.send(limits)
  const timer = setInterval(() => process.send?.('alive'), TELL_EVERY_MS).unref()
  return () => {
    clearInterval(timer)
    process.send?.('over')
    process.off('disconnect', onGone)
  }
}

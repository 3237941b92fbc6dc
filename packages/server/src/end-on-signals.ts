/**
 * Drains on the first SIGTERM or SIGINT, and ends the process at once on a second one. Settles when it has drained.
 *
 * @param exitCode of a process that is ended by the second signal
 */
export async function endOnSignals(drain: () => Promise<void>, exitCode: number): Promise<void> {
  const signals = ['SIGTERM', 'SIGINT'] as const
  await new Promise<void>((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve())
  })
  for (const signal of signals) process.on(signal, () => process.exit(exitCode))
  await drain()
}

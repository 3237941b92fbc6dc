const listeners = new Set<() => void>()

/**
 * Keeps the process alive when the reader of its output goes away (`starflow demo | head`): what is written then is lost,
 * which is no error. Called once, at the start.
 */
export function surviveClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // EIO and ENXIO are what a terminal that was closed says.
      if (!['EPIPE', 'EIO', 'ENXIO', 'ERR_STREAM_DESTROYED'].includes(error.code ?? '')) throw error
      for (const tell of listeners) tell()
    })
  }
}

/** Tells that nobody reads the output any longer. Returns what stops listening. */
export function onClosedPipe(tell: () => void): () => void {
  listeners.add(tell)
  return () => void listeners.delete(tell)
}

const failures = new WeakSet<object>()

/** Remembers an error as one that the platform is to blame for: a handler's connection was lost, refused or not to be had. */
export function markPlatformFailure(error: unknown): void {
  if (typeof error === 'object' && error !== null) failures.add(error)
}

/** Whether what a handler threw is such an error, or was caused by one. What only looks like one is the handler's. */
export function isPlatformFailure(thrown: unknown): boolean {
  return isCausedBy(thrown, (error) => failures.has(error))
}

/** Looks at an error and at its causes, five deep; one that cannot be read has none. */
export function isCausedBy(thrown: unknown, matches: (error: object) => boolean): boolean {
  try {
    let current: unknown = thrown
    for (let depth = 0; depth < 5 && typeof current === 'object' && current !== null; depth++) {
      if (matches(current)) return true
      current = (current as { cause?: unknown }).cause
    }
  } catch {
    // A getter of the handler's threw.
  }
  return false
}

import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits for the answer of a database no longer than this, as on a network that went away without a word. The question goes on.
 *
 * @throws an error with code ETIMEDOUT; and what the question fails with
 */
export async function answerWithin<T>(withinMs: number, question: Promise<T>): Promise<T> {
  const timeout = new AbortController()
  const tooLate = sleep(withinMs, undefined, { signal: timeout.signal }).then(() => {
    throw Object.assign(new Error(`The database has not answered within ${withinMs / 1000} s.`), { code: 'ETIMEDOUT' })
  })
  try {
    return await Promise.race([question, tooLate])
  } finally {
    timeout.abort()
  }
}

import type { ServerResponse } from 'node:http'
import { ALLOWED_CHECK_MS } from '../numbers.ts'

/**
 * Aborted when the caller of an open request no longer has the right to it: its token was revoked, its sign-in is over. Looks again
 * every two seconds, until the answer is closed. That nobody can be asked takes no right away.
 */
export function whileAllowed(isAllowed: () => Promise<boolean>, answer: ServerResponse): AbortSignal {
  const controller = new AbortController()
  let isAsked = false
  const look = async () => {
    if (isAsked) return
    isAsked = true
    if (!(await isAllowed().catch(() => true))) controller.abort()
    isAsked = false
  }
  const timer = setInterval(() => void look(), ALLOWED_CHECK_MS)
  const stop = () => clearInterval(timer)
  controller.signal.addEventListener('abort', stop, { once: true })
  answer.once('close', stop)
  return controller.signal
}

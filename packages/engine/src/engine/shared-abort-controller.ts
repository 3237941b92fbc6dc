import { setMaxListeners } from 'node:events'

/** For a signal that any number of writes and handlers listen to at once: Node takes more than ten for a leak. */
export function sharedAbortController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

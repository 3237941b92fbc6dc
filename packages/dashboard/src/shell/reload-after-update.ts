const KEY = 'starflow.reloaded'
/** A page that lacks a file again so soon after it was loaded anew lacks it for another reason. */
const AGAIN_AFTER_MS = 60_000

interface ReloadParts {
  readonly page: EventTarget
  readonly reload: () => void
  /** May throw: browsers can be told to keep nothing. */
  readonly memory: () => Pick<Storage, 'getItem' | 'setItem'>
  readonly now: () => number
}

/**
 * A server that was updated has the files of another build: a page that has been open since before asks for parts that are gone. It is
 * loaded anew then, where it is: its address holds what it shows.
 */
export function reloadAfterUpdate({ page, reload, memory, now }: ReloadParts): void {
  // Where that cannot be remembered it is not loaded anew at all: it might be for ever.
  const isFirst = () => {
    try {
      if (now() - Number(memory().getItem(KEY) ?? 0) < AGAIN_AFTER_MS) return false
      memory().setItem(KEY, String(now()))
      return true
    } catch {
      return false
    }
  }
  // What Vite tells where a part of the page cannot be loaded.
  page.addEventListener('vite:preloadError', (event) => {
    if (!isFirst()) return
    // Else it would be shown as a defect until it is loaded.
    event.preventDefault()
    reload()
  })
}

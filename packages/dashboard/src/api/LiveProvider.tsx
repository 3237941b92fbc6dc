import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react'
import { Live, type LiveState } from './live.ts'

const LiveContext = createContext<Live | undefined>(undefined)

/** Keeps what is shown inside of it up to date while it is there. */
export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const queryClient = useQueryClient()
  const [live] = useState(
    () =>
      new Live({
        queryClient,
        openStream: () => new EventSource('/api/live'),
        isVisible: () => document.visibilityState === 'visible',
      }),
  )
  useEffect(() => {
    live.start()
    return () => live.stop()
  }, [live])
  return <LiveContext value={live}>{children}</LiveContext>
}

/** How what is shown is kept up to date. */
export function useLiveState(): LiveState {
  const live = useContext(LiveContext)
  if (live === undefined) throw new Error('useLiveState is for what stands inside of a LiveProvider')
  return useSyncExternalStore(live.subscribe, () => live.state)
}

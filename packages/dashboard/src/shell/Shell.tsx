import { useSuspenseQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useRouter } from '@tanstack/react-router'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { LiveProvider, useLiveState } from '../api/LiveProvider.tsx'
import type { LiveState } from '../api/live.ts'
import { reachability } from '../api/reachability.ts'
import { sessionQuery, signOut } from '../api/session.ts'
import { Button, IconButton } from '../design/Button.tsx'
import { Icon } from '../design/Icon.tsx'
import { useToaster } from '../design/Toast.tsx'
import { DESTINATIONS } from './navigation.ts'
import styles from './Shell.module.css'
import { ThemeSwitch } from './ThemeSwitch.tsx'
import { useIsOperator, useSession } from './use-scope.ts'
import { useSearchKey } from './use-search-key.ts'
import { WorkspaceSwitch } from './WorkspaceSwitch.tsx'

/** What is around every page of those who are signed in: navigation, workspace, theme, and how live the figures are. */
export function Shell() {
  useSearchKey()
  const { data: session } = useSuspenseQuery(sessionQuery)
  if (session === null) return <SessionOver />
  return (
    <LiveProvider>
      <div className={styles.shell}>
        <a href="#content" className={styles.skip}>
          Skip to the content
        </a>
        <Navigation />
        <main id="content" tabIndex={-1} className={styles.content}>
          <Outlet />
        </main>
      </div>
    </LiveProvider>
  )
}

/** It has ended while the page was open. Leads to the sign-in once: the address changes while that page is loaded. */
function SessionOver() {
  const router = useRouter()
  const isLeaving = useRef(false)
  useEffect(() => {
    if (isLeaving.current) return
    isLeaving.current = true
    void router.navigate({ to: '/sign-in', search: { from: router.state.location.href }, replace: true })
  }, [router])
  return null
}

function Navigation() {
  const [isOpen, setOpen] = useState(false)
  const isOperator = useIsOperator()
  const { pathname } = useLocation()
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => setOpen(false), [pathname])
  useEffect(() => {
    if (!isOpen) return
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return
      setOpen(false)
      button.current?.focus()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [isOpen])
  return (
    <header className={styles.bar} data-open={isOpen}>
      <div className={styles.head}>
        <Link to="/" className={styles.mark}>
          <Mark />
          Starflow
        </Link>
        <IconButton
          ref={button}
          icon={isOpen ? 'close' : 'menu'}
          label={isOpen ? 'Close the navigation' : 'Open the navigation'}
          aria-expanded={isOpen}
          aria-controls="navigation"
          className={styles.toggle}
          onClick={() => setOpen(!isOpen)}
        />
      </div>
      <LiveNote />
      <div id="navigation" className={styles.folding}>
        <WorkspaceSwitch />
        <nav aria-label="Pages">
          <ul className={styles.links}>
            {DESTINATIONS.filter(({ isForOperator }) => isOperator || !isForOperator).map(({ to, title, icon }) => (
              <li key={to}>
                <Link to={to} activeOptions={{ exact: to === '/', includeSearch: false }} className={styles.link}>
                  <Icon name={icon} />
                  {title}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className={styles.foot}>
          <ThemeSwitch />
          <SignOutButton />
        </div>
      </div>
    </header>
  )
}

const LIVE_NOTES: Readonly<Record<LiveState | 'unreached', readonly [string, string]>> = {
  connecting: ['connecting', 'The figures are asked again every 3 seconds.'],
  live: ['live', 'The server tells what has changed.'],
  polling: ['every 3 s', 'The server does not tell what changes: the figures are asked again every 3 seconds.'],
  unreached: ['server not reached', 'The figures are those of the last answer. They are asked again every 3 seconds.'],
}

function LiveNote() {
  const liveState = useLiveState()
  const isReached = useSyncExternalStore(reachability.subscribe, () => reachability.isReached)
  const state = isReached ? liveState : 'unreached'
  const [text, title] = LIVE_NOTES[state]
  return (
    <p className={styles.live} data-state={state} title={title} role="status">
      {text}
    </p>
  )
}

function SignOutButton() {
  const toaster = useToaster()
  const { workspace } = useSession()
  const leave = async () => {
    try {
      await signOut()
    } catch (error) {
      toaster.failed('You are still signed in.', error)
      return
    }
    // Loaded anew: nothing that was shown stays in memory.
    window.location.assign('/sign-in')
  }
  return (
    <Button
      kind="quiet"
      size="small"
      icon="signOut"
      title={workspace === null ? 'Signed in as the operator' : `Signed in to ${workspace}`}
      onClick={leave}
    >
      Sign out
    </Button>
  )
}

/** A flow that forks: the mark of the product. */
export function Mark({ size = 20 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" className={styles.markImage}>
      <path d="M5 10h3.5c2 0 1.5-5 4-5H15M8.5 10c2 0 1.5 5 4 5H15" />
      <circle cx="4" cy="10" r="2.5" />
      <circle cx="16" cy="5" r="2.5" />
      <circle cx="16" cy="15" r="2.5" />
    </svg>
  )
}

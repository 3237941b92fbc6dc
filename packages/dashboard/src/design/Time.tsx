import { useSyncExternalStore } from 'react'
import { serverClock } from '../api/server-clock.ts'
import { formatAge, formatDuration } from '../format/duration.ts'
import { formatInstant } from '../format/instant.ts'
import styles from './Time.module.css'
import { Ticker } from './ticker.ts'

const seconds = new Ticker(1_000)

/** The time of the server in whole seconds; whoever asks is drawn again each second. */
export function useNow(): number {
  return useSyncExternalStore(seconds.subscribe, () => Math.floor(serverClock.now() / 1_000) * 1_000)
}

/** How long ago something was; ticks in a place of constant width, and tells the whole instant to who points at it. */
export function RelativeTime({ at, suffix = ' ago' }: { readonly at: string; readonly suffix?: string }) {
  const age = useNow() - Date.parse(at)
  const text = formatAge(age)
  return (
    <time className={styles.time} dateTime={at} title={formatInstant(at)}>
      {age < 1_000 ? text : `${text}${suffix}`}
    </time>
  )
}

/** How long until something is, or that it should have been. */
export function TimeUntil({ at }: { readonly at: string }) {
  const left = Date.parse(at) - useNow()
  return (
    <time className={styles.time} dateTime={at} title={formatInstant(at)}>
      {left > 0 ? `in ${formatAge(left)}` : `${formatAge(-left)} over`}
    </time>
  )
}

/** A duration; without an end it goes on. */
export function Duration({ from, to }: { readonly from: string; readonly to: string | null }) {
  return to === null ? (
    <RunningDuration from={from} />
  ) : (
    <span className={styles.time}>{formatDuration(Date.parse(to) - Date.parse(from))}</span>
  )
}

function RunningDuration({ from }: { readonly from: string }) {
  return <span className={styles.time}>{formatDuration(Math.max(0, useNow() - Date.parse(from)))}</span>
}

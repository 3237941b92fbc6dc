import { useMemo, useState } from 'react'
import { Button } from '../../design/Button.tsx'
import { classNames } from '../../design/class-names.ts'
import { ErrorState } from '../../design/ErrorState.tsx'
import { Icon } from '../../design/Icon.tsx'
import { Panel, Section } from '../../design/Page.tsx'
import { Skeleton } from '../../design/Skeleton.tsx'
import { countOf, formatCount } from '../../format/count.ts'
import { formatInstant } from '../../format/instant.ts'
import { glimpse } from '../../json/json-rows.ts'
import type { JsonValue } from '../../json/json-value.ts'
import { type EventGroup, eventGroups, type RunEvent } from './event-groups.ts'
import styles from './RunEvents.module.css'
import { eventText } from './run-words.ts'
import type { RunEvents as Events } from './use-run-events.ts'

/** Elements of a map are told apart by their number, not by a thousand lines. */
const ELEMENTS_SHOWN = 200

/** What happened, the first on top. */
export function RunEvents({
  events,
  onSelect,
}: {
  readonly events: Events
  readonly onSelect: (step: string | null) => void
}) {
  const groups = useMemo(() => eventGroups(events.events), [events.events])
  const count = events.events.length
  return (
    <Section title="Events" aside={count > 0 && `${formatCount(count)}${events.hasMore ? '+' : ''}`}>
      <Panel isFlush>
        {events.error !== null ? (
          <div className={styles.error}>
            <ErrorState error={events.error} onRetry={events.retry} />
          </div>
        ) : events.isLoading ? (
          <div className={styles.error}>
            <Skeleton lines={4} />
          </div>
        ) : count === 0 ? (
          <p className={styles.none}>Nothing has happened yet.</p>
        ) : (
          <ol className={styles.events}>
            {groups.map((group) =>
              group.kind === 'event' ? (
                <EventLine key={group.event.id} event={group.event} onSelect={onSelect} />
              ) : (
                <GroupLine key={group.events[0]!.id} group={group} onSelect={onSelect} />
              ),
            )}
          </ol>
        )}
        {events.hasMore && (
          <p className={styles.more}>
            <Button size="small" isBusy={events.isLoadingMore} onClick={events.loadMore}>
              Load more
            </Button>
          </p>
        )}
      </Panel>
    </Section>
  )
}

interface LineProps {
  readonly onSelect: (step: string | null) => void
}

function EventLine({ event, onSelect }: LineProps & { readonly event: RunEvent }) {
  const { type, node, at, payload } = event
  const note = noteOf(event)
  const step = node?.replace(/\[\d+\]$/, '')
  return (
    <li className={classNames(styles.line, styles[toneOf(type)])}>
      <Instant at={at} />
      <span className={styles.text}>
        {step !== undefined && (
          <button type="button" className={styles.node} onClick={() => onSelect(step)}>
            {node}
          </button>
        )}{' '}
        {eventText(type)}
        {note !== null && (
          <span className={styles.note} title={payload === null ? undefined : note}>
            {note}
          </span>
        )}
      </span>
    </li>
  )
}

function GroupLine({ group, onSelect }: LineProps & { readonly group: Extract<EventGroup, { kind: 'elements' }> }) {
  const [isOpen, setOpen] = useState(false)
  const counts = [...group.counts].map(([type, count]) => `${formatCount(count)} ${eventText(type)}`).join(', ')
  return (
    <li className={classNames(styles.group, group.counts.has('node_error') && styles.bad)}>
      <div className={styles.line}>
        <Instant at={group.events[0]!.at} />
        <span className={styles.text}>
          <button type="button" className={styles.node} onClick={() => onSelect(group.step)}>
            {group.step}
          </button>{' '}
          <button type="button" className={styles.fold} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <span className={classNames(styles.arrow, isOpen && styles.open)}>
              <Icon name="chevron" size={12} />
            </span>
            {counts}
          </button>
        </span>
      </div>
      {isOpen && (
        <ol className={styles.elements}>
          {group.events.slice(0, ELEMENTS_SHOWN).map((event) => (
            <EventLine key={event.id} event={event} onSelect={onSelect} />
          ))}
          {group.events.length > ELEMENTS_SHOWN && (
            <li className={styles.none}>
              and {countOf(group.events.length - ELEMENTS_SHOWN, 'event')} more: the tasks of the step tell each.
            </li>
          )}
        </ol>
      )}
    </li>
  )
}

function Instant({ at }: { readonly at: string }) {
  const date = new Date(at)
  const text = `${date.toLocaleTimeString('en-GB')}.${String(date.getMilliseconds()).padStart(3, '0')}`
  return (
    <time className={styles.at} dateTime={at} title={formatInstant(at)}>
      {text}
    </time>
  )
}

function toneOf(type: string): 'bad' | 'warn' | 'good' | 'plain' {
  if (type === 'node_error' || type === 'run_failed') return 'bad'
  if (type === 'node_retry' || type === 'runner_lost') return 'warn'
  return type === 'run_completed' ? 'good' : 'plain'
}

/** The part of a payload that tells most, in a line. */
function noteOf({ type, payload }: RunEvent): string | null {
  if (payload === null) return null
  const { error, reason, output, attempt } = payload as Readonly<Record<string, JsonValue | undefined>>
  const message = (error as { message?: unknown } | null | undefined)?.message ?? error
  if (typeof message === 'string') return message
  if (typeof reason === 'string') return reason.replaceAll('_', ' ')
  if (type === 'node_start') return typeof attempt === 'number' && attempt > 1 ? `attempt ${attempt}` : null
  if (output !== undefined) return glimpse(output, 100)
  return Object.keys(payload).length === 0 ? null : glimpse(payload as JsonValue, 100)
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type QueueSample, queueHistoryQuery } from '../../api/queues.ts'
import { serverClock } from '../../api/server-clock.ts'
import { TimeChart, type TimeSeries } from '../../chart/TimeChart.tsx'
import { EmptyState } from '../../design/EmptyState.tsx'
import { Loaded } from '../../design/Loaded.tsx'
import { Panel } from '../../design/Page.tsx'
import { formatRate, formatShortCount } from '../../format/count.ts'
import { formatDuration } from '../../format/duration.ts'
import styles from './QueueHistory.module.css'

/** How full a queue was, how old its oldest message, and how much was done. The charts are looked at together. */
export function QueueHistory({ queue, hours }: { readonly queue: string; readonly hours: number }) {
  const query = useQuery(queueHistoryQuery(queue, hours))
  const [lookedAt, look] = useState<number>()
  return (
    <Loaded query={query} placeholder={<div className={styles.place} />}>
      {(samples) =>
        samples.length === 0 ? (
          <Panel>
            <EmptyState title="There are no samples yet.">
              <p>Queues are sampled once a minute where select starflow.setup_queue_samples_cron() was called.</p>
            </EmptyState>
          </Panel>
        ) : (
          <Charts samples={samples} hours={hours} lookedAt={lookedAt} look={look} />
        )
      }
    </Loaded>
  )
}

interface ChartsProps {
  readonly samples: readonly QueueSample[]
  readonly hours: number
  readonly lookedAt: number | undefined
  readonly look: (at: number | undefined) => void
}

function Charts({ samples, hours, lookedAt, look }: ChartsProps) {
  const to = Math.max(serverClock.now(), Date.parse(samples.at(-1)?.at ?? ''))
  const shared = { range: { from: to - hours * 3_600_000, to }, lookedAt, onLook: look }
  const series = (
    name: string,
    tone: TimeSeries['tone'],
    value: (sample: QueueSample) => number | null,
  ): TimeSeries => ({
    ...{ name, tone, mark: 'line' },
    points: samples.map((sample) => ({ at: Date.parse(sample.at), value: value(sample) })),
  })
  return (
    <Panel>
      <div className={styles.charts}>
        <TimeChart
          {...shared}
          title="Messages"
          format={formatShortCount}
          series={[
            series('depth', 'active', ({ depth }) => depth),
            series('in flight', 'held', ({ inFlight }) => inFlight),
          ]}
        />
        <TimeChart
          {...shared}
          title="Oldest message"
          format={(seconds) => formatDuration(seconds * 1_000)}
          series={[series('age', 'active', ({ oldestSeconds }) => oldestSeconds ?? 0)]}
        />
        <TimeChart
          {...shared}
          title="Done per minute"
          format={formatRate}
          series={[series('done', 'good', ({ donePerMinute }) => donePerMinute)]}
        />
        <TimeChart
          {...shared}
          title="Live workers"
          format={formatShortCount}
          series={[series('live', 'good', ({ liveWorkers }) => liveWorkers)]}
        />
      </div>
    </Panel>
  )
}

import { LAG_PAGE_MS, LAG_WARN_MS, type MirrorLag } from '@starflow/engine'

/** `starflow_outbox_unapplied{age_bucket}`: writes that the warm tier has not, by age. */
export function outboxGauge({ fresh, late, overdue }: Pick<MirrorLag, 'fresh' | 'late' | 'overdue'>) {
  const [warn, page] = [LAG_WARN_MS / 1000, LAG_PAGE_MS / 1000]
  return [
    { ageBucket: `under_${warn}s`, changes: fresh },
    { ageBucket: `${warn}s_to_${page}s`, changes: late },
    { ageBucket: `over_${page}s`, changes: overdue },
  ]
}

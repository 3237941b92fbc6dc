import { useMemo } from 'react'
import { Status } from '../../design/Status.tsx'
import { countOf } from '../../format/count.ts'
import { stepGraph } from '../../graph/step-graph.ts'
import { shownStatus } from './run-marks.ts'
import type { RunDetail, StepView } from './run-queries.ts'
import styles from './SiblingSteps.module.css'

/** Steps that the picture shows as one box, each by its name; those that failed first. Nothing for a step with a box of its own. */
export function SiblingSteps({
  run,
  step,
  onSelect,
}: {
  readonly run: RunDetail
  readonly step: StepView
  readonly onSelect: (step: string) => void
}) {
  const { steps } = run
  const siblings = useMemo(() => {
    const node = stepGraph(steps).nodes.find((each) => each.steps.some((one) => one.step === step.step))
    return new Set(node === undefined || node.steps.length === 1 ? [] : node.steps.map((one) => one.step))
  }, [steps, step.step])
  if (siblings.size === 0) return null
  const own = steps.filter((each) => siblings.has(each.step))
  const ordered = [
    ...own.filter(({ status }) => status === 'failed'),
    ...own.filter(({ status }) => status !== 'failed'),
  ]
  return (
    <details className={styles.siblings} open>
      <summary>One of {countOf(own.length, 'step')} at the same place of the flow</summary>
      <ul className={styles.list}>
        {ordered.map((each) => (
          <li key={each.step} className={styles.item}>
            <button
              type="button"
              className={styles.row}
              aria-current={each.step === step.step}
              onClick={() => onSelect(each.step)}
            >
              <span className={styles.name}>{each.step}</span>
              <Status status={shownStatus(run, each)} isPlain />
            </button>
          </li>
        ))}
      </ul>
    </details>
  )
}

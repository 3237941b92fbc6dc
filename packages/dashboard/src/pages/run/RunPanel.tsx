import { Panel } from '../../design/Page.tsx'
import styles from './RunPanel.module.css'
import { RunValue } from './RunValue.tsx'
import { hasEnded, type RunDetail } from './run-queries.ts'
import { StepPanel } from './StepPanel.tsx'

export interface RunPanelProps {
  readonly run: RunDetail
  readonly selected: string | null
  /** One task of the selected step. */
  readonly task: number | undefined
  readonly onSelect: (step: string | null, task?: number) => void
}

/** What there is to say about the step that is selected; about the run, where none is. */
export function RunPanel({ run, selected, task, onSelect }: RunPanelProps) {
  const step = run.steps.find((each) => each.step === selected)
  return (
    <Panel>
      {step === undefined ? (
        <RunValues run={run} />
      ) : (
        <StepPanel key={step.step} run={run} step={step} task={task} onSelect={onSelect} />
      )}
    </Panel>
  )
}

function RunValues({ run }: { readonly run: RunDetail }) {
  return (
    <div className={styles.parts}>
      <RunValue run={run} which="input" bytes={run.inputBytes} />
      {run.outputBytes === null ? (
        <section className={styles.part}>
          <h3>Output</h3>
          <p className={styles.none}>
            {hasEnded(run) ? 'It has none: it did not complete.' : 'It comes when the run has completed.'}
          </p>
        </section>
      ) : (
        <RunValue run={run} which="output" bytes={run.outputBytes} />
      )}
      <p className={styles.none}>Select a step for its attempts, its output and what went wrong.</p>
    </div>
  )
}

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../design/Button.tsx'
import { ConfirmDialog } from '../../design/ConfirmDialog.tsx'
import { Field, TextArea, TextInput } from '../../design/Field.tsx'
import { useToaster } from '../../design/Toast.tsx'
import { readJson } from '../../schema-form/draft.ts'
import type { Json } from '../../schema-form/json.ts'
import { useScope } from '../../shell/use-scope.ts'
import { countsAsDecided, resumeText } from '../run/run-words.ts'
import styles from './WaitDecision.module.css'
import { resumeWait } from './wait-queries.ts'

export interface WaitDecisionProps {
  readonly runId: string
  readonly step: string
}

interface Decision {
  readonly verb: 'Approve' | 'Reject' | 'Resume'
  readonly payload: Json
}

/** Decides a wait: yes, no, or with a payload of one's own. What is sent is shown before it is sent, since it cannot be undone. */
export function WaitDecision({ runId, step }: WaitDecisionProps) {
  const [comment, setComment] = useState('')
  const [text, setText] = useState<string | null>(null)
  const [problem, setProblem] = useState<string>()
  const [decision, setDecision] = useState<Decision | null>(null)
  const verdict = (approved: boolean): Json => ({ approved, ...(comment.trim() !== '' && { comment: comment.trim() }) })
  const decideByText = () => {
    const { value, error } = readJson(text ?? '')
    setProblem(error === null ? undefined : `It ${error}.`)
    if (value !== undefined) setDecision({ verb: 'Resume', payload: value })
  }
  return (
    <section className={styles.decision} aria-label={`Decision about ${step}`}>
      {text === null ? (
        <>
          <Field label="Comment" help="Part of the payload. Optional.">
            {(ids) => <TextInput {...ids} value={comment} onChange={({ target }) => setComment(target.value)} />}
          </Field>
          <div className={styles.buttons}>
            <Button
              kind="primary"
              icon="check"
              onClick={() => setDecision({ verb: 'Approve', payload: verdict(true) })}
            >
              Approve
            </Button>
            <Button kind="danger" icon="close" onClick={() => setDecision({ verb: 'Reject', payload: verdict(false) })}>
              Reject
            </Button>
            <Button kind="quiet" onClick={() => setText(JSON.stringify(verdict(true), null, 2))}>
              Other payload
            </Button>
          </div>
        </>
      ) : (
        <>
          <Field label="Payload" help="JSON. It is the output of the step, for those after it." error={problem}>
            {(ids) => <TextArea {...ids} rows={6} value={text} onChange={({ target }) => setText(target.value)} />}
          </Field>
          <div className={styles.buttons}>
            <Button kind="primary" onClick={decideByText}>
              Resume with this
            </Button>
            <Button
              kind="quiet"
              onClick={() => {
                setText(null)
                setProblem(undefined)
              }}
            >
              Back to yes or no
            </Button>
          </div>
        </>
      )}
      {decision !== null && (
        <DecisionDialog {...decision} runId={runId} step={step} onClose={() => setDecision(null)} />
      )}
    </section>
  )
}

/** Asks before a decision is sent. */
function DecisionDialog({
  verb,
  payload,
  runId,
  step,
  onClose,
}: Decision & WaitDecisionProps & { readonly onClose: () => void }) {
  const scope = useScope()
  const client = useQueryClient()
  const toaster = useToaster()
  const resume = useMutation({
    mutationFn: () => resumeWait(scope, { runId, step }, payload),
    onSuccess: (outcome) => {
      if (countsAsDecided(outcome)) toaster.done(resumeText(outcome))
      else toaster.failed('Your decision does not count.', new Error(resumeText(outcome)))
      onClose()
    },
    onSettled: () => Promise.all(['waits', 'runs'].map((kind) => client.invalidateQueries({ queryKey: [kind] }))),
  })
  return (
    <ConfirmDialog
      title={`${verb} ${step}?`}
      action={verb}
      isDangerous={verb === 'Reject'}
      isBusy={resume.isPending}
      error={resume.error}
      onConfirm={() => resume.mutate()}
      onClose={onClose}
    >
      <p>The run goes on at once with this payload. It cannot be taken back.</p>
      <pre className={styles.payload}>{JSON.stringify(payload, null, 2)}</pre>
    </ConfirmDialog>
  )
}

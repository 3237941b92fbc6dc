import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { readJsonText } from '../../api/read-json-text.ts'
import { EVERY_WORKSPACE } from '../../api/scope.ts'
import { Button } from '../../design/Button.tsx'
import { ErrorNote } from '../../design/ErrorState.tsx'
import { Field, Select, TextInput } from '../../design/Field.tsx'
import { formOf, readForm } from '../../schema-form/form-state.ts'
import type { Json } from '../../schema-form/json.ts'
import { SchemaForm } from '../../schema-form/SchemaForm.tsx'
import { useScope, useSession } from '../../shell/use-scope.ts'
import { type FlowSummary, startRun } from './flow-queries.ts'
import styles from './StartRun.module.css'

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/
const NAME_HELP = 'Letters, digits, dots, hyphens and underscores.'

/** Starts a run of a flow with an input that is checked here first; then one is at the run. */
export function StartRun({ flow, from }: { readonly flow: FlowSummary; readonly from: string | undefined }) {
  const scope = useScope()
  const navigate = useNavigate()
  const client = useQueryClient()
  const schema = (flow.inputSchema ?? null) as Json
  const [form, setForm] = useState(() => formOf(schema))
  useInputOf(from, (input) => setForm(formOf(schema, input)))
  const { defaultWorkspace } = useSession()
  const [workspace, setWorkspace] = useState(scope === EVERY_WORKSPACE ? defaultWorkspace : scope)
  const [options, setOptions] = useState({ placement: '', env: '', delay: '', pool: '', idempotencyKey: '' })
  const [isTried, setTried] = useState(false)
  const set = (name: keyof typeof options) => (event: { target: { value: string } }) =>
    setOptions((old) => ({ ...old, [name]: event.target.value }))

  const reading = readForm(form)
  const delaySeconds = options.delay.trim() === '' ? 0 : Number(options.delay)
  const wrong = {
    workspace: NAME.test(workspace) ? undefined : `Name the workspace that the run belongs to. ${NAME_HELP}`,
    env: options.env === '' || NAME.test(options.env) ? undefined : NAME_HELP,
    pool: options.pool === '' || NAME.test(options.pool) ? undefined : NAME_HELP,
    delay: delaySeconds >= 0 && delaySeconds <= 31_622_400 ? undefined : 'Seconds, a year at most.',
  }
  const shown = isTried ? wrong : { workspace: undefined, env: undefined, pool: undefined, delay: undefined }
  const start = useMutation({
    mutationFn: (input: Json) =>
      startRun({
        flow: flow.flow,
        workspace,
        input,
        placement: options.placement === '' ? undefined : (options.placement as 'queue' | 'runner'),
        env: options.env || undefined,
        pool: options.pool || undefined,
        idempotencyKey: options.idempotencyKey || undefined,
        delayMs: Math.round(delaySeconds * 1000),
      }),
    onSuccess: async (runId) => {
      void client.invalidateQueries({ queryKey: ['runs'] })
      await navigate({ to: '/runs/$runId', params: { runId } })
    },
  })
  const frame = useRef<HTMLFormElement>(null)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    const isWrong = reading.value === undefined || Object.values(wrong).some((text) => text !== undefined)
    if (!isWrong && !start.isPending) start.mutate(reading.value as Json)
    // What has to be mended is shown after this, and then gets the focus.
    else setTimeout(() => frame.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }
  const hasChoice = flow.placements.length > 1
  return (
    <form ref={frame} className={styles.form} onSubmit={submit} noValidate>
      {flow.isPaused && (
        <p className={styles.paused}>
          Intake is paused: a run can be started, and its work waits until the flow is resumed.
        </p>
      )}
      <SchemaForm label="Input" form={form} onChange={setForm} problems={isTried ? reading.problems : []} />
      {scope === EVERY_WORKSPACE && (
        <Field
          label="Workspace"
          help="Whose run it is. Tokens of a workspace see its runs only."
          error={shown.workspace}
        >
          {(ids) => (
            <TextInput
              {...ids}
              autoComplete="off"
              spellCheck={false}
              value={workspace}
              onChange={(event) => setWorkspace(event.target.value)}
            />
          )}
        </Field>
      )}
      <details className={styles.more}>
        <summary>Where, when and how</summary>
        <div className={styles.options}>
          {hasChoice && (
            <Field label="Runs on" help="A run on step queues is worked by many; a runner executes it as a whole.">
              {(ids) => (
                <Select {...ids} value={options.placement} onChange={set('placement')}>
                  <option value="">the default: {flow.placements[0] === 'queue' ? 'step queues' : 'a runner'}</option>
                  <option value="queue">step queues</option>
                  <option value="runner">a runner</option>
                </Select>
              )}
            </Field>
          )}
          <Field
            label="Environment"
            help="What the run is counted to; prod unless it says otherwise."
            error={shown.env}
          >
            {(ids) => <TextInput {...ids} placeholder="prod" value={options.env} onChange={set('env')} />}
          </Field>
          <Field label="Delay in seconds" help="Nothing of the run begins before." error={shown.delay}>
            {(ids) => (
              <TextInput {...ids} inputMode="decimal" placeholder="0" value={options.delay} onChange={set('delay')} />
            )}
          </Field>
          {flow.placements.includes('runner') && (
            <Field label="Runner pool" help="Only runners of this pool claim the run." error={shown.pool}>
              {(ids) => <TextInput {...ids} placeholder="any" value={options.pool} onChange={set('pool')} />}
            </Field>
          )}
          <Field label="Idempotency key" help="The same key again leads to the run that it started.">
            {(ids) => (
              <TextInput {...ids} maxLength={200} value={options.idempotencyKey} onChange={set('idempotencyKey')} />
            )}
          </Field>
        </div>
      </details>
      {start.error !== null && <ErrorNote error={start.error} />}
      <div className={styles.submit}>
        <Button type="submit" kind="primary" icon="runs" isBusy={start.isPending}>
          Start the run
        </Button>
        {isTried && reading.problems.length > 0 && (
          <p className={styles.wrong} role="alert">
            The input is not right yet.
          </p>
        )}
      </div>
    </form>
  )
}

/** Gives the input of a run once it is there. */
function useInputOf(runId: string | undefined, use: (input: Json) => void): void {
  const scope = useScope()
  const { data } = useQuery({
    queryKey: ['payload', runId, 'input', 'to start with'],
    queryFn: async ({ signal }) =>
      JSON.parse(await readJsonText(`/api/runs/${runId}/input`, scope, signal)) as { input: Json },
    enabled: runId !== undefined,
    staleTime: 'static',
  })
  const latest = useRef(use)
  latest.current = use
  useEffect(() => {
    if (data !== undefined) latest.current(data.input)
  }, [data])
}

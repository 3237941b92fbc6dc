import { useId, useState } from 'react'
import { Button, IconButton } from '../design/Button.tsx'
import { Select, TextArea, TextInput } from '../design/Field.tsx'
import { type Draft, emptyDraft, type Problem, presentDraft } from './draft.ts'
import type { Field, TextFormat } from './field.ts'
import { asFields, asJson, type FormState } from './form-state.ts'
import type { Json } from './json.ts'
import styles from './SchemaForm.module.css'

export interface SchemaFormProps {
  /** What the value is: "Input", "Payload". */
  readonly label: string
  readonly form: FormState
  readonly onChange: (form: FormState) => void
  /** What has to be mended; shown where it is. */
  readonly problems: readonly Problem[]
}

/** Writes a JSON value: field by field where a schema tells how, and as JSON always. */
export function SchemaForm({ label, form, onChange, problems }: SchemaFormProps) {
  const [refusal, setRefusal] = useState<string>()
  const hasFields = form.field.kind !== 'json'
  const toFields = () => {
    const fields = asFields(form)
    setRefusal(
      fields === undefined ? 'This JSON cannot be shown as fields: it has something that they do not.' : undefined,
    )
    if (fields !== undefined) onChange(fields)
  }
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a legend cannot stand beside what chooses the way of writing.
    <div role="group" aria-labelledby={`${id}-label`} className={styles.form}>
      <div className={styles.top}>
        <span id={`${id}-label`} className={styles.legend}>
          {label}
        </span>
        {hasFields && (
          <div className={styles.modes}>
            <Button
              size="small"
              kind="quiet"
              aria-pressed={form.mode === 'fields'}
              onClick={form.mode === 'fields' ? undefined : toFields}
            >
              Fields
            </Button>
            <Button
              size="small"
              kind="quiet"
              aria-pressed={form.mode === 'json'}
              onClick={() => {
                setRefusal(undefined)
                if (form.mode === 'fields') onChange(asJson(form))
              }}
            >
              JSON
            </Button>
          </div>
        )}
      </div>
      {form.mode === 'fields' ? (
        <FieldInput
          field={form.field}
          draft={form.draft}
          path=""
          problems={problems}
          onChange={(draft) => onChange({ ...form, draft })}
        />
      ) : (
        <div className={styles.field}>
          <TextArea
            aria-label={`${label} as JSON`}
            aria-invalid={problems.length > 0}
            aria-describedby={`${id}-note`}
            rows={Math.min(18, Math.max(5, form.text.split('\n').length + 1))}
            value={form.text}
            onChange={(event) => onChange({ ...form, text: event.target.value })}
          />
          <div id={`${id}-note`} aria-live="polite">
            {refusal !== undefined && <p className={styles.error}>{refusal}</p>}
            <Problems problems={problems} />
          </div>
        </div>
      )}
    </div>
  )
}

function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  return problems.map(({ path, message }) => (
    <p key={`${path} ${message}`} className={styles.error}>
      {path === '' ? 'It' : <code>{path.slice(1).replaceAll('/', '.')}</code>} {message}.
    </p>
  ))
}

interface FieldInputProps {
  readonly field: Field
  readonly draft: Draft
  /** JSON pointer of the value. */
  readonly path: string
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
  /** Beside the name: takes an item out of its list. */
  readonly onRemove?: () => void
  /** Instead of the name of the property. */
  readonly name?: string
}

function FieldInput(props: FieldInputProps) {
  const { field, draft, path, problems, onChange, onRemove } = props
  const id = useId()
  const own = problems.filter((problem) => problem.path === path)
  const name = props.name ?? field.name
  const help = [field.description, field.limits.join(', ')].filter(Boolean).join(' · ')
  const hasChoiceOfState = !field.isRequired || field.isNullable
  const ids = {
    id,
    'aria-describedby': help === '' && own.length === 0 ? undefined : `${id}-note`,
    'aria-invalid': own.length > 0,
    'aria-label': name === '' ? 'Value' : undefined,
  }
  // What holds others is a group under its name; what does not is a control of its name.
  const isGroup = field.kind === 'object' || field.kind === 'list'
  const group = isGroup &&
    name !== '' && { role: 'group', 'aria-labelledby': `${id}-name`, 'aria-describedby': ids['aria-describedby'] }
  const words = (
    <>
      {name}
      {field.title !== null && field.title !== name && <span className={styles.title}>{field.title}</span>}
    </>
  )
  return (
    <div className={styles.field} {...group}>
      {(name !== '' || hasChoiceOfState || onRemove !== undefined) && (
        <div className={styles.head}>
          {isGroup || draft.state !== 'set' ? (
            <span id={`${id}-name`} className={styles.label}>
              {words}
            </span>
          ) : (
            <label htmlFor={id} className={styles.label}>
              {words}
            </label>
          )}
          {hasChoiceOfState && <StateChoice {...props} />}
          {onRemove !== undefined && (
            <IconButton icon="close" label={`Remove ${name}`} size="small" onClick={onRemove} />
          )}
        </div>
      )}
      {draft.state === 'set' && <ValueInput {...props} ids={ids} onChange={onChange} />}
      {(help !== '' || own.length > 0) && (
        <div id={`${id}-note`}>
          {own.map(({ message }) => (
            <p key={message} className={styles.error}>
              {message[0]?.toUpperCase()}
              {message.slice(1)}.
            </p>
          ))}
          {help !== '' && <p className={styles.help}>{help}</p>}
        </div>
      )}
    </div>
  )
}

/** Whether an optional property is there, and whether a nullable one is null. */
function StateChoice({ field, draft, onChange, name }: FieldInputProps) {
  const choose = (state: string) => {
    if (state === draft.state) return
    onChange(state === 'set' ? setDraft(field) : { ...draft, state: state as Draft['state'] })
  }
  return (
    <Select
      aria-label={`Whether ${(name ?? field.name) || 'the value'} is there`}
      value={draft.state}
      onChange={(event) => choose(event.target.value)}
    >
      {!field.isRequired && <option value="absent">left out</option>}
      {field.isNullable && <option value="null">null</option>}
      <option value="set">{field.isRequired ? 'a value' : 'given'}</option>
    </Select>
  )
}

/** With its default where there is one. */
function setDraft(field: Field): Draft {
  const initial = emptyDraft(field)
  return initial.state === 'set' ? initial : presentDraft(field)
}

type Ids = Readonly<Record<'id', string>> & {
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean
  readonly 'aria-label': string | undefined
}

const INPUT_TYPES: Partial<Record<TextFormat, string>> = { email: 'email', uri: 'url', date: 'date' }
const PLACEHOLDERS: Partial<Record<TextFormat, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  uri: 'https://',
  uuid: '00000000-0000-0000-0000-000000000000',
}

function ValueInput({ field, draft, path, problems, onChange, ids }: FieldInputProps & { readonly ids: Ids }) {
  const setText = (text: string) => onChange({ ...draft, text })
  switch (field.kind) {
    case 'text':
      return field.isLong ? (
        <TextArea {...ids} rows={4} value={draft.text} onChange={(event) => setText(event.target.value)} />
      ) : (
        <TextInput
          {...ids}
          type={(field.format !== null && INPUT_TYPES[field.format]) || 'text'}
          placeholder={field.format === null ? undefined : PLACEHOLDERS[field.format]}
          autoComplete="off"
          value={draft.text}
          onChange={(event) => setText(event.target.value)}
        />
      )
    case 'number':
      // Not of type number: that gives no text for what is no number, and rounds.
      return (
        <TextInput
          {...ids}
          inputMode={field.isInteger ? 'numeric' : 'decimal'}
          autoComplete="off"
          value={draft.text}
          onChange={(event) => setText(event.target.value)}
        />
      )
    case 'boolean':
      return (
        <span className={styles.check}>
          <input
            {...ids}
            type="checkbox"
            checked={draft.isTrue}
            onChange={(event) => onChange({ ...draft, isTrue: event.target.checked })}
          />
          <code>{String(draft.isTrue)}</code>
        </span>
      )
    case 'choice':
      return (
        <Select
          {...ids}
          value={draft.choice}
          onChange={(event) => onChange({ ...draft, choice: Number(event.target.value) })}
        >
          {draft.choice === -1 && <option value={-1}>Choose …</option>}
          {field.choices.map((choice, index) => (
            <option key={JSON.stringify(choice)} value={index}>
              {wordOf(choice)}
            </option>
          ))}
        </Select>
      )
    case 'fixed':
      return <code className={styles.fixed}>{JSON.stringify(field.value)}</code>
    case 'json':
      return (
        <TextArea
          {...ids}
          rows={Math.min(10, Math.max(3, draft.text.split('\n').length))}
          placeholder="JSON"
          value={draft.text}
          onChange={(event) => setText(event.target.value)}
        />
      )
    case 'object':
      return (
        <div className={field.name === '' && path === '' ? styles.fields : styles.nested}>
          {field.fields.map((part, index) => (
            <FieldInput
              key={part.name}
              field={part}
              draft={draft.parts[index]!}
              path={`${path}/${part.name.replaceAll('~', '~0').replaceAll('/', '~1')}`}
              problems={problems}
              onChange={(changed) => onChange({ ...draft, parts: draft.parts.with(index, changed) })}
            />
          ))}
        </div>
      )
    case 'list':
      return (
        <div className={styles.nested}>
          {draft.parts.map((item, index) => (
            <FieldInput
              key={index}
              name={`${field.name}[${index}]`}
              field={field.item}
              draft={item}
              path={`${path}/${index}`}
              problems={problems}
              onChange={(changed) => onChange({ ...draft, parts: draft.parts.with(index, changed) })}
              onRemove={() => onChange({ ...draft, parts: draft.parts.toSpliced(index, 1) })}
            />
          ))}
          <div>
            <Button
              aria-invalid={ids['aria-invalid']}
              size="small"
              icon="plus"
              onClick={() => onChange({ ...draft, parts: [...draft.parts, setDraft(field.item)] })}
            >
              Add {field.name === '' ? 'an item' : `to ${field.name}`}
            </Button>
          </div>
        </div>
      )
  }
}

function wordOf(choice: Json): string {
  return typeof choice === 'string' && choice !== '' ? choice : JSON.stringify(choice)
}

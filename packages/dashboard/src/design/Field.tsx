import { type ComponentProps, type ReactNode, useId } from 'react'
import styles from './Field.module.css'
import { Icon } from './Icon.tsx'

/** A control with its name above it, and what helps to fill it below. */
export function Field({
  label,
  help,
  error,
  children,
}: {
  readonly label: string
  readonly help?: ReactNode
  readonly error?: string | undefined
  /** Given the ids that tie the control to its name and help. */
  readonly children: (ids: {
    readonly id: string
    readonly 'aria-describedby': string | undefined
    readonly 'aria-invalid': boolean
  }) => ReactNode
}) {
  const id = useId()
  const noteId = `${id}-note`
  const note = error ?? help
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={styles.label}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': note === undefined ? undefined : noteId,
        'aria-invalid': error !== undefined,
      })}
      {note !== undefined && (
        <p id={noteId} className={error === undefined ? styles.help : styles.error}>
          {note}
        </p>
      )}
    </div>
  )
}

export function TextInput(props: ComponentProps<'input'>) {
  return <input {...props} className={styles.input} />
}

export function TextArea(props: ComponentProps<'textarea'>) {
  return <textarea spellCheck={false} {...props} className={styles.area} />
}

export function Select(props: ComponentProps<'select'>) {
  return <select {...props} className={styles.select} />
}

/** Finds within what is shown. `/` leads there from anywhere on the page. */
export function SearchField({
  label,
  value,
  onChange,
  ...rest
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
}) {
  return (
    <div className={styles.search}>
      <Icon name="search" />
      <input
        {...rest}
        type="search"
        aria-label={label}
        aria-keyshortcuts="/"
        className={styles.input}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        data-search=""
      />
      <span className={styles.key} aria-hidden="true">
        /
      </span>
    </div>
  )
}

/** Filters of a page, in a row that breaks where it must. */
export function FilterBar({ children }: { readonly children: ReactNode }) {
  return <search className={styles.filters}>{children}</search>
}

/** A filter with few values: its name before it. */
export function FilterSelect({
  label,
  children,
  ...rest
}: { readonly label: string; readonly children: ReactNode } & ComponentProps<'select'>) {
  return (
    <label className={styles.filter}>
      <span className={styles.filterLabel}>{label}</span>
      <select {...rest} className={styles.select}>
        {children}
      </select>
    </label>
  )
}

/** A filter that is on or off. */
export function FilterSwitch({
  label,
  isOn,
  onChange,
}: {
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
}) {
  return (
    <label className={styles.filter}>
      <input
        type="checkbox"
        className={styles.check}
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
    </label>
  )
}

/** What the filters have left, in words. */
export function FilterNote({ children }: { readonly children: ReactNode }) {
  return (
    <span className={styles.note} role="status">
      {children}
    </span>
  )
}

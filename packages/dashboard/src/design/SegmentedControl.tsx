import { useId } from 'react'
import styles from './SegmentedControl.module.css'

/** One of a few values, all of them in sight. */
export function SegmentedControl<TValue extends string>({
  label,
  options,
  value,
  onChange,
}: {
  readonly label: string
  readonly options: readonly TValue[]
  readonly value: TValue
  readonly onChange: (value: TValue) => void
}) {
  const name = useId()
  return (
    <fieldset className={styles.control}>
      <legend className={styles.legend}>{label}</legend>
      {options.map((option) => (
        <label key={option} className={styles.option}>
          <input
            type="radio"
            name={name}
            className={styles.input}
            checked={option === value}
            onChange={() => onChange(option)}
          />
          {option}
        </label>
      ))}
    </fieldset>
  )
}

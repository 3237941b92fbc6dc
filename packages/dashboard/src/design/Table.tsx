import type { CSSProperties, ReactNode } from 'react'
import { classNames } from './class-names.ts'
import styles from './Table.module.css'

export interface Column<TRow> {
  /** The heading. */
  readonly title: string
  /** Of the table's width; widths do not follow what the cells hold, so that nothing moves when they are filled anew. */
  readonly width: string
  /** On narrow screens, so that the columns after it come into sight; the others share what is left, as their widths say. */
  readonly narrowWidth?: string
  readonly cell: (row: TRow) => ReactNode
  /** Numbers stand to the right, so that they can be compared. */
  readonly isNumber?: boolean
  /** The cell has no heading that needs to be read, as of buttons. */
  readonly isTitleHidden?: boolean
}

export interface TableGroup {
  readonly key: string
  readonly heading: ReactNode
}

export interface TableProps<TRow> {
  /** What it is a table of. */
  readonly label: string
  readonly columns: readonly Column<TRow>[]
  readonly rows: readonly TRow[]
  readonly rowKey: (row: TRow) => string
  /** Below this width the table scrolls inside of its frame. */
  readonly minWidth?: string
  /** A row that a person should see first. */
  readonly isMarked?: (row: TRow) => boolean
  /** The row that is looked at elsewhere on the page. */
  readonly isSelected?: (row: TRow) => boolean
  /** Rows that follow one another with the same group stand under its heading. */
  readonly groupOf?: (row: TRow) => TableGroup
  /** Instead of rows, where there are none. */
  readonly empty?: ReactNode
}

/** Rows with columns of fixed widths; on narrow screens the table scrolls inside of its frame. */
export function Table<TRow>(props: TableProps<TRow>) {
  const { label, columns, rows, rowKey, isMarked, isSelected, groupOf, empty, minWidth = '44rem' } = props
  if (rows.length === 0 && empty !== undefined) return <div className={styles.frame}>{empty}</div>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard.
    <div className={styles.frame} tabIndex={0}>
      <table className={styles.table} style={{ minWidth }} aria-label={label}>
        <colgroup>
          {columns.map(({ title, width, narrowWidth = width }) => (
            <col
              key={title}
              className={styles.column}
              style={{ '--width': width, '--narrow-width': narrowWidth } as CSSProperties}
            />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map(({ title, isNumber, isTitleHidden }) => (
              <th key={title} scope="col" className={classNames(isNumber && styles.number)}>
                <span className={classNames(isTitleHidden && styles.hiddenTitle)}>{title}</span>
              </th>
            ))}
          </tr>
        </thead>
        {groupsOf(rows, groupOf).map(({ key, heading, rows: ofGroup }) => (
          <tbody key={key}>
            {heading !== undefined && (
              <tr className={styles.group}>
                <th scope="rowgroup" colSpan={columns.length}>
                  {heading}
                </th>
              </tr>
            )}
            {ofGroup.map((row) => (
              <tr
                key={rowKey(row)}
                className={classNames(isMarked?.(row) && styles.marked, isSelected?.(row) && styles.selected)}
              >
                {columns.map(({ title, cell, isNumber }) => (
                  <td key={title} className={classNames(isNumber && styles.number)}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  )
}

/** The main text of a row with a smaller line below it. */
export function TwoLines({ children, below }: { readonly children: ReactNode; readonly below?: ReactNode }) {
  return (
    <div className={styles.twoLines}>
      <div className={styles.first}>{children}</div>
      {below !== undefined && below !== null && <div className={styles.second}>{below}</div>}
    </div>
  )
}

function groupsOf<TRow>(rows: readonly TRow[], groupOf: ((row: TRow) => TableGroup) | undefined) {
  const groups: { key: string; heading: ReactNode; rows: TRow[] }[] = []
  for (const row of rows) {
    const { key, heading } = groupOf?.(row) ?? { key: '', heading: undefined }
    const last = groups.at(-1)
    if (last !== undefined && last.key === key) last.rows.push(row)
    else groups.push({ key, heading, rows: [row] })
  }
  return groups
}

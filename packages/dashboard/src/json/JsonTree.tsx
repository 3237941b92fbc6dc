import { useMemo, useState } from 'react'
import { classNames } from '../design/class-names.ts'
import { Icon } from '../design/Icon.tsx'
import { formatBytes } from '../format/bytes.ts'
import { countOf, formatCount } from '../format/count.ts'
import styles from './JsonTree.module.css'
import { type JsonMember, type JsonView, jsonRows, openAtFirst, SHOWN_AT_FIRST } from './json-rows.ts'
import type { JsonValue } from './json-value.ts'

/** How many more members of a large object or array are shown at a time. */
const SHOWN_MORE = 500

/** JSON as lines that open and close. Numbers and strings look as they are written. */
export function JsonTree({ value, label }: { readonly value: JsonValue; readonly label: string }) {
  const [view, setView] = useState<JsonView>(() => ({
    open: openAtFirst(value),
    whole: new Set(),
    shown: new Map(),
  }))
  const rows = useMemo(() => jsonRows(value, view), [value, view])
  const toggle = (path: string) =>
    setView((old) => ({ ...old, open: old.open.has(path) ? without(old.open, path) : new Set(old.open).add(path) }))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard.
    <div role="group" className={styles.tree} aria-label={label} tabIndex={0}>
      <ul>
        {rows.map((row) =>
          row.type === 'rest' ? (
            <li key={`${row.path} rest`} className={styles.line} style={{ paddingLeft: indent(row.depth) }}>
              <button
                type="button"
                className={styles.more}
                onClick={() =>
                  setView((old) => ({
                    ...old,
                    shown: new Map(old.shown).set(row.path, (old.shown.get(row.path) ?? SHOWN_AT_FIRST) + SHOWN_MORE),
                  }))
                }
              >
                show {formatCount(Math.min(SHOWN_MORE, row.count))} of {formatCount(row.count)} more
              </button>
            </li>
          ) : (
            <li key={row.path} className={styles.line} style={{ paddingLeft: indent(row.depth) }}>
              <Member
                row={row}
                onToggle={toggle}
                onWhole={(path) => setView((old) => ({ ...old, whole: new Set(old.whole).add(path) }))}
              />
            </li>
          ),
        )}
      </ul>
    </div>
  )
}

function Member({
  row,
  onToggle,
  onWhole,
}: {
  readonly row: JsonMember
  readonly onToggle: (path: string) => void
  readonly onWhole: (path: string) => void
}) {
  const name = row.name !== null && (
    <span className={row.isIndex ? styles.index : styles.name}>{row.isIndex ? row.name : nameText(row.name)}:</span>
  )
  if (row.size === null || row.size === 0) {
    return (
      <span className={styles.leaf}>
        {name} <span className={classNames(styles.value, styles[row.kind])}>{row.text}</span>
        {row.cutLength > 0 && (
          <button type="button" className={styles.more} onClick={() => onWhole(row.path)}>
            show {formatBytes(row.cutLength)} more
          </button>
        )}
      </span>
    )
  }
  const size = row.kind === 'array' ? countOf(row.size, 'item') : countOf(row.size, 'property', 'properties')
  return (
    <button type="button" className={styles.fold} aria-expanded={row.isOpen} onClick={() => onToggle(row.path)}>
      <span className={classNames(styles.arrow, row.isOpen && styles.open)}>
        <Icon name="chevron" size={12} />
      </span>
      {name} {!row.isOpen && <span className={styles.glimpse}>{row.text}</span>}
      <span className={styles.size}>{size}</span>
    </button>
  )
}

/** Deep values go on to the right no further than a narrow screen is wide. */
function indent(depth: number): string {
  return `${Math.min(depth, 12) * 0.875}rem`
}

/** A name that could be mistaken for something else is written in quotes. */
function nameText(name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(name) ? name : JSON.stringify(name)
}

function without(set: ReadonlySet<string>, path: string): ReadonlySet<string> {
  return new Set([...set].filter((each) => each !== path))
}

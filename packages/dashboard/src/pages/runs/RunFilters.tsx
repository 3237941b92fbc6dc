import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../../design/Button.tsx'
import { FilterBar, FilterSelect, SearchField } from '../../design/Field.tsx'
import { statusLook } from '../../design/status-look.ts'
import { flowsQuery } from '../flows/flow-queries.ts'
import styles from './RunFilters.module.css'
import { isFiltered, RUN_STATUSES, type RunFilter, type RunStatus, SINCE, type Since } from './run-filter.ts'

/** A list is asked anew when nobody has typed for so long. */
const TYPING_PAUSE_MS = 300

interface RunFiltersProps {
  readonly filter: RunFilter
  readonly onChange: (changes: Partial<RunFilter>) => void
}

export function RunFilters({ filter, onChange }: RunFiltersProps) {
  const flows = useQuery(flowsQuery)
  const slugs = flows.data?.map(({ flow }) => flow) ?? []
  const chosen = filter.flow
  const toggle = (status: RunStatus) => {
    const others = filter.status?.filter((each) => each !== status) ?? []
    const next = filter.status?.includes(status) ? others : [...others, status]
    onChange({ status: next.length === 0 ? undefined : (next as [RunStatus, ...RunStatus[]]) })
  }
  return (
    <div className={styles.filters}>
      <FilterBar>
        <SearchText text={filter.q ?? ''} onChange={(q) => onChange({ q: q === '' ? undefined : q })} />
        <FilterSelect
          label="Flow"
          value={chosen ?? ''}
          onChange={({ target }) => onChange({ flow: target.value === '' ? undefined : target.value })}
        >
          <option value="">all</option>
          {chosen !== undefined && !slugs.includes(chosen) && <option value={chosen}>{chosen}</option>}
          {slugs.map((slug) => (
            <option key={slug} value={slug}>
              {slug}
            </option>
          ))}
        </FilterSelect>
        <FilterSelect
          label="Started"
          value={filter.from !== undefined || filter.until !== undefined ? 'written' : (filter.since ?? '')}
          onChange={({ target }) =>
            onChange({
              since: target.value === '' ? undefined : (target.value as Since),
              from: undefined,
              until: undefined,
            })
          }
        >
          <option value="">at any time</option>
          {Object.entries(SINCE).map(([since, { title }]) => (
            <option key={since} value={since}>
              {title}
            </option>
          ))}
          {(filter.from !== undefined || filter.until !== undefined) && (
            <option value="written">as in the address</option>
          )}
        </FilterSelect>
        <FilterSelect
          label="Runs on"
          value={filter.placement ?? ''}
          onChange={({ target }) =>
            onChange({ placement: target.value === '' ? undefined : (target.value as RunFilter['placement']) })
          }
        >
          <option value="">both</option>
          <option value="queue">step queues</option>
          <option value="runner">runners</option>
        </FilterSelect>
      </FilterBar>
      <div className={styles.second}>
        <fieldset className={styles.statuses}>
          <legend className={styles.legend}>Status</legend>
          {RUN_STATUSES.map((status) => {
            const { word, tone, mark } = statusLook(status)
            const isChosen = filter.status?.includes(status) ?? false
            return (
              <button
                key={status}
                type="button"
                className={`${styles.status} ${styles[tone]}`}
                aria-pressed={isChosen}
                onClick={() => toggle(status)}
              >
                <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
                  <path d={mark} />
                </svg>
                {word}
              </button>
            )
          })}
        </fieldset>
        {isFiltered(filter) && (
          <Button
            kind="quiet"
            size="small"
            icon="close"
            onClick={() =>
              onChange({
                ...{ flow: undefined, status: undefined, q: undefined, since: undefined, from: undefined },
                ...{ until: undefined, placement: undefined, env: undefined },
              })
            }
          >
            Clear the filters
          </Button>
        )}
      </div>
    </div>
  )
}

/** What is typed goes into the address once there is a pause; what the address says goes into the field unless somebody types. */
function SearchText({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(text)
  const told = useRef(text)
  const change = useRef(onChange)
  change.current = onChange
  useEffect(() => {
    if (text === told.current) return
    told.current = text
    setTyped(text)
  }, [text])
  useEffect(() => {
    const wanted = typed.trim()
    if (wanted === told.current) return
    const timer = setTimeout(() => {
      told.current = wanted
      change.current(wanted)
    }, TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return <SearchField label="Search runs" placeholder="Run id, flow or error" value={typed} onChange={setTyped} />
}

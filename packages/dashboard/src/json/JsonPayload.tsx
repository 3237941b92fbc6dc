import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Button } from '../design/Button.tsx'
import { ErrorNote } from '../design/ErrorState.tsx'
import { Skeleton } from '../design/Skeleton.tsx'
import { useToaster } from '../design/Toast.tsx'
import { formatBytes } from '../format/bytes.ts'
import styles from './JsonPayload.module.css'
import { JsonTree } from './JsonTree.tsx'
import { formatJson, type JsonValue } from './json-value.ts'

/** Larger than this a value is shown only once somebody asks for it. */
const SHOWN_BYTES = 256_000

export interface JsonPayloadProps {
  /** What it is: "Input", "Output". */
  readonly title: string
  /** How a file of it is called, without its ending. */
  readonly fileName: string
  /** Undefined: it did not come along, and has to be loaded. */
  readonly value: JsonValue | undefined
  readonly bytes: number
  /** Gives it as the server has it. Told apart by `loadKey`. */
  readonly load?: ((signal: AbortSignal) => Promise<JsonValue>) | undefined
  readonly loadKey?: readonly unknown[]
  /** Loads it without being asked. */
  readonly isLoadedAtOnce?: boolean
  readonly aside?: ReactNode
}

/** A JSON value with its size, to look through, copy and save; a large one is loaded on demand. */
export function JsonPayload({
  title,
  fileName,
  value,
  bytes,
  load,
  loadKey = [],
  isLoadedAtOnce = false,
  aside,
}: JsonPayloadProps) {
  const [isAsked, setAsked] = useState(isLoadedAtOnce)
  const isThere = value !== undefined
  const loaded = useQuery({
    queryKey: ['payload', ...loadKey],
    queryFn: ({ signal }) => load!(signal),
    enabled: !isThere && isAsked && load !== undefined,
    staleTime: 'static',
    gcTime: 60_000,
  })
  const shown = isThere ? value : loaded.data
  return (
    <div className={styles.payload}>
      <header className={styles.header}>
        <h3>{title}</h3>
        <span className={styles.size}>{formatBytes(bytes)}</span>
        {aside}
        {shown !== undefined && <PayloadActions title={title} fileName={fileName} text={() => formatJson(shown)} />}
      </header>
      {shown !== undefined ? (
        <JsonTree value={shown} label={title} />
      ) : loaded.error !== null ? (
        <ErrorNote error={loaded.error} />
      ) : isAsked ? (
        <Skeleton lines={4} />
      ) : (
        <div className={styles.large}>
          <p>It is large{bytes > SHOWN_BYTES ? ', and showing it may take a moment' : ''}.</p>
          <Button size="small" onClick={() => setAsked(true)}>
            Load {formatBytes(bytes)}
          </Button>
        </div>
      )}
    </div>
  )
}

function PayloadActions({
  title,
  fileName,
  text,
}: Pick<JsonPayloadProps, 'title' | 'fileName'> & { readonly text: () => string }) {
  const toaster = useToaster()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text())
      toaster.done(`${title} copied.`)
    } catch (error) {
      toaster.failed(`${title} was not copied.`, error)
    }
  }
  const save = () => {
    const url = URL.createObjectURL(new Blob([text()], { type: 'application/json' }))
    const link = document.createElement('a')
    link.href = url
    link.download = `${fileName}.json`
    link.click()
    // The browser reads it after the click.
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  }
  return (
    <span className={styles.actions}>
      <Button size="small" kind="quiet" icon="copy" onClick={copy} aria-label={`Copy ${title.toLowerCase()}`}>
        Copy
      </Button>
      <Button size="small" kind="quiet" icon="save" onClick={save} aria-label={`Save ${title.toLowerCase()} as a file`}>
        Save
      </Button>
    </span>
  )
}

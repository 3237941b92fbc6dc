import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react'
import { errorText } from '../api/api-error.ts'
import { IconButton } from './Button.tsx'
import { classNames } from './class-names.ts'
import styles from './Toast.module.css'

const SHOWN_MS = 6_000

interface Toast {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
  readonly more?: string | undefined
}

/** Says what came of something that a person did. */
export interface Toaster {
  done(text: string): void
  /** Stays until it is closed. */
  failed(text: string, error: unknown): void
}

const ToasterContext = createContext<Toaster | undefined>(undefined)

export function useToaster(): Toaster {
  const toaster = useContext(ToasterContext)
  if (toaster === undefined) throw new Error('useToaster is for what stands inside of a ToastProvider')
  return toaster
}

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const lastId = useRef(0)
  const close = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const toaster = useMemo<Toaster>(() => {
    const show = (toast: Omit<Toast, 'id'>) => {
      lastId.current += 1
      const id = lastId.current
      setToasts((all) => [...all, { id, ...toast }])
      return id
    }
    return {
      done: (text) => {
        const id = show({ kind: 'done', text })
        setTimeout(() => close(id), SHOWN_MS)
      },
      failed: (text, error) => {
        const { title, hint } = errorText(error)
        show({ kind: 'failed', text, more: [title, hint].filter(Boolean).join(' ') })
      },
    }
  }, [close])
  return (
    <ToasterContext value={toaster}>
      {children}
      <div className={styles.toasts} role="status" aria-live="polite">
        {toasts.map(({ id, kind, text, more }) => (
          <div key={id} className={classNames(styles.toast, styles[kind])}>
            <div>
              <p className={styles.text}>{text}</p>
              {more !== undefined && <p className={styles.more}>{more}</p>}
            </div>
            <IconButton icon="close" label="Close this message" size="small" onClick={() => close(id)} />
          </div>
        ))}
      </div>
    </ToasterContext>
  )
}

import { useNavigate, useSearch } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { useSession } from './use-scope.ts'
import styles from './WorkspaceSwitch.module.css'

const NAME = '[A-Za-z0-9._\\-]{1,64}'

/** The workspace whose runs are shown. A token of a workspace has one; the operator names one, or leaves it empty for all. */
export function WorkspaceSwitch() {
  const { workspace: own } = useSession()
  const { workspace: chosen } = useSearch({ from: '/_signed-in' })
  return own === null ? <WorkspaceField key={chosen} chosen={chosen ?? ''} /> : <OwnWorkspace name={own} />
}

function OwnWorkspace({ name }: { readonly name: string }) {
  return (
    <p className={styles.own}>
      <span className={styles.label}>Workspace</span>
      {name}
    </p>
  )
}

function WorkspaceField({ chosen }: { readonly chosen: string }) {
  const id = useId()
  const navigate = useNavigate()
  const [text, setText] = useState(chosen)
  const choose = async () => {
    await navigate({ to: '.', search: (search) => ({ ...search, workspace: text === '' ? undefined : text }) })
  }
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        void choose()
      }}
    >
      <label htmlFor={id} className={styles.label}>
        Workspace
      </label>
      <input
        id={id}
        className={styles.input}
        value={text}
        placeholder="all"
        pattern={NAME}
        title="Letters, digits, dots, hyphens and underscores, 64 at most; empty for all"
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onBlur={(event) => {
          if (event.target.validity.valid && text !== chosen) void choose()
        }}
      />
    </form>
  )
}

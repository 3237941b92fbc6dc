import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouteContext, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { isSignedOut } from '../../api/api-error.ts'
import { sessionQuery, signIn } from '../../api/session.ts'
import { Button } from '../../design/Button.tsx'
import { ErrorNote } from '../../design/ErrorState.tsx'
import { Field, TextInput } from '../../design/Field.tsx'
import { Notice } from '../../design/Notice.tsx'
import { Mark } from '../../shell/Shell.tsx'
import styles from './SignInPage.module.css'

/** Takes a token, which the server keeps as a cookie that no script can read, and leads back to where one was going. */
export function SignInPage() {
  const { from } = useSearch({ from: '/sign-in' })
  const { linkError } = useRouteContext({ from: '/sign-in' })
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const [token, setToken] = useState('')
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    document.title = 'Sign in · Starflow'
  }, [])

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      queryClient.setQueryData(sessionQuery.queryKey, await signIn(token.trim()))
      await navigate({ href: from ?? '/', replace: true })
    } catch (refusal) {
      setError(refusal)
    } finally {
      setBusy(false)
    }
  }

  return (
    <main className={styles.page}>
      <form className={styles.form} onSubmit={submit}>
        <div className={styles.head}>
          <Mark size={28} />
          <h1>Sign in to Starflow</h1>
        </div>
        <Field
          label="API token"
          help={
            <>
              The operator's, or one of a workspace: <code className={styles.command}>npx starflow tokens create</code>
              {isThisComputer(window.location.hostname) && (
                <span className={styles.local}>
                  Of <code className={styles.command}>starflow dev</code>: the link in its terminal signs you in, or its
                  token in <code className={styles.command}>.starflow/dev/api-token</code>
                </span>
              )}
            </>
          }
        >
          {(ids) => (
            <TextInput
              {...ids}
              type="password"
              name="token"
              autoComplete="current-password"
              autoFocus
              required
              value={token}
              onChange={(event) => setToken(event.target.value)}
            />
          )}
        </Field>
        <Problem error={error ?? linkError} isOfLink={error === undefined} />
        <Button type="submit" kind="primary" isBusy={isBusy}>
          Sign in
        </Button>
      </form>
    </main>
  )
}

/** Where `starflow dev` listens. */
function isThisComputer(hostname: string): boolean {
  return hostname === '127.0.0.1' || hostname === 'localhost'
}

/** A refusal in the words of somebody who signs in; the API's own are for those who send requests. */
function Problem({ error, isOfLink }: { readonly error: unknown; readonly isOfLink: boolean }) {
  if (error === undefined) return null
  if (!isSignedOut(error)) return <ErrorNote error={error} />
  return isOfLink ? (
    <Notice title="This link is no longer good." tone="bad" isAlert>
      <p>Each works once, within 10 minutes. The command that printed it prints another when it starts again.</p>
    </Notice>
  ) : (
    <Notice title="This token is not good here." tone="bad" isAlert>
      <p>It may have been revoked, or belong to another server.</p>
    </Notice>
  )
}

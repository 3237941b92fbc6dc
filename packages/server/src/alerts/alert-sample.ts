import { randomUUID } from 'node:crypto'
import { readDeclarationsFile } from '../triggers/load-declarations.ts'
import { inOrder, invalidDeclarations } from '../triggers/read-declarations.ts'
import { sampleBody } from './alert-message.ts'
import { type AlertRequest, alertRequest } from './alert-sender.ts'
import { alertSecretProblems } from './check-alerts.ts'

/** A request that only shows whether one arrives. */
export interface AlertSample {
  readonly webhook: string
  readonly request: AlertRequest
}

/**
 * The request that each webhook of the alerts would get, signed as a real one. Of the file only its form is checked, and what the
 * webhooks need of the environment.
 *
 * @throws StarflowError SF920
 */
export function alertSamples(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  nowMs: number,
): readonly AlertSample[] {
  const { declarations, problems, problemAt } = readDeclarationsFile(file)
  if (declarations === undefined) throw invalidDeclarations(file, problems)
  const missing = alertSecretProblems(declarations, env).map(({ path, message }) => problemAt(path, message))
  if (missing.length > 0) throw invalidDeclarations(file, inOrder(missing))
  const body = sampleBody(new Date(nowMs).toISOString())
  return Object.entries(declarations.alerts?.webhooks ?? {}).map(([webhook, declared]) => ({
    webhook,
    request: alertRequest(declared, { id: randomUUID(), body, nowMs }, env),
  }))
}

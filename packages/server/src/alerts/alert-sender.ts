import { ALERT_TIMEOUT_MS } from '../numbers.ts'
import { signStandardWebhook } from '../triggers/signatures/standard-webhooks.ts'
import type { AlertWebhook } from './alert-declarations.ts'
import type { AlertBody } from './alert-message.ts'

/** A request as it is sent. */
export interface AlertRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What came of one attempt. Nothing of the answer's body is looked at. */
export type AlertAnswer =
  | { readonly isTaken: true; readonly status: number }
  | { readonly isTaken: false; readonly reason: string }

type Env = Readonly<Record<string, string | undefined>>

/**
 * The signed request of a message. Whether its variables are set, the check of the file has seen.
 *
 * @param id names the message: the same for each attempt
 */
export function alertRequest(
  { url, secrets }: Pick<AlertWebhook, 'url' | 'secrets'>,
  message: { readonly id: string; readonly body: AlertBody; readonly nowMs: number },
  env: Env,
): AlertRequest {
  const body = JSON.stringify(message.body)
  const keys = secrets.flatMap((variable) => env[variable]?.trim() || [])
  return {
    url: typeof url === 'string' ? url : (env[url.variable]?.trim() ?? ''),
    headers: {
      'content-type': 'application/json',
      'user-agent': 'starflow',
      ...signStandardWebhook(message.id, body, keys, message.nowMs),
    },
    body,
  }
}

/** Sends it once. A redirect is not followed: what was signed is for one address. */
export async function sendAlert({ url, headers, body }: AlertRequest): Promise<AlertAnswer> {
  try {
    const response = await fetch(url, {
      ...{ method: 'POST', headers, body, redirect: 'manual' },
      signal: AbortSignal.timeout(ALERT_TIMEOUT_MS),
    })
    await response.body?.cancel()
    const { status } = response
    return response.ok ? { isTaken: true, status } : { isTaken: false, reason: `status ${status}` }
  } catch (error) {
    // Its message may name the address, which may be a secret.
    const { cause } = error as { cause?: { code?: unknown } }
    if (typeof cause?.code === 'string') return { isTaken: false, reason: cause.code }
    return { isTaken: false, reason: error instanceof Error ? error.name : 'unknown' }
  }
}

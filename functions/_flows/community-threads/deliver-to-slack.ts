import { NonRetryableError, RetryLater } from '@starflow/dsl'
import type { Classification, Thread } from './classify-thread.ts'

interface Delivery {
  readonly webhookUrl: string | undefined
  readonly signal: AbortSignal
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly logger: { info(message: string, fields?: Record<string, unknown>): void }
}

/**
 * Posts a thread to a Slack webhook. Slack's own wish for a later attempt is honoured, a webhook that does not exist any
 * more is not tried again. A webhook cannot recognise a repeated post: a crash between post and report may announce a
 * thread twice.
 */
export async function deliverToSlack(
  thread: Thread,
  classification: Classification,
  delivery: Delivery,
): Promise<{ delivered: boolean }> {
  const { webhookUrl, signal, fetch, logger } = delivery
  if (!webhookUrl) {
    logger.info('SLACK_WEBHOOK_URL is not set: would announce', { threadId: thread.id, route: classification.route })
    return { delivered: false }
  }
  const response = await fetch(webhookUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: announcementOf(thread) }),
    signal,
  })
  await response.body?.cancel()
  if (response.ok) return { delivered: true }
  if (response.status === 429) throw new RetryLater({ delaySeconds: retryAfterOf(response) })
  if (response.status === 404 || response.status === 410) {
    throw new NonRetryableError(`Slack does not know this webhook (${response.status})`)
  }
  throw new Error(`Slack answered ${response.status}`)
}

function announcementOf(thread: Thread): string {
  const title = escapeMrkdwn(thread.title)
  return `${escapeMrkdwn(thread.author)} needs help: ${thread.url ? `<${thread.url}|${title}>` : title}`
}

/** The three characters that Slack's markup asks to be escaped. */
function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function retryAfterOf(response: Response): number {
  const seconds = Number(response.headers.get('retry-after'))
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : 30
}

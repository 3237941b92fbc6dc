import { createHash } from 'node:crypto'
import { findStandIn, InvalidOutputError, type Json, roundedNumberProblem, toJsonText } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import type { ServerLog } from '../log.ts'
import type { FlowCatalog } from '../runs/flow-catalog.ts'
import type { RunDirectory } from '../runs/run-directory.ts'
import type { TriggerStore } from '../store/trigger-store.ts'
import type { Condition, WebhookDeclaration } from './declarations.ts'
import type { FiringKey } from './firing.ts'
import type { FiringStarter } from './firing-starter.ts'
import { fillTemplate } from './input-template.ts'
import { pointerParts, valueAt } from './json-pointer.ts'
import { schemeOf } from './signatures/schemes.ts'
import type { SignedRequest } from './signatures/signature-scheme.ts'
import { isSlackChallenge } from './signatures/slack.ts'
import { parseWebhookBody } from './webhook-body.ts'

/** - `started` - `repeated`: the same delivery had been recorded before - `ignored`: the webhook is not for it */
export interface ReceivedDelivery {
  readonly outcome: 'started' | 'repeated' | 'ignored'
  /** Null: nothing was started, or the run of a repeated one is about to be. */
  readonly runId: string | null
  /** What the sender has to be answered with, where it does care. */
  readonly answer: string | undefined
}

export interface WebhookReceiverOptions {
  readonly webhooks: Readonly<Record<string, WebhookDeclaration>>
  /** Whose the runs are. */
  readonly workspaceId: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly store: TriggerStore
  readonly runs: Pick<RunDirectory, 'placementOf'>
  readonly flows: Pick<FlowCatalog, 'checkInput'>
  readonly starter: FiringStarter
  readonly log: ServerLog
  readonly now: () => number
}

/** A delivery id as it is kept: longer ones, and those with anything but visible ASCII, by their hash. */
const PLAIN_DELIVERY = /^[\x21-\x7e]{1,120}$/

/** Takes deliveries in: nothing of one is looked at before its signature is known to be good. */
export class WebhookReceiver {
  readonly #options: WebhookReceiverOptions

  constructor(options: WebhookReceiverOptions) {
    this.#options = options
  }

  /**
   * Starts the run of a delivery, once however often it is delivered.
   *
   * @throws StarflowError SF921 to SF924, and what the start is refused with
   */
  async receive(name: string, request: SignedRequest): Promise<ReceivedDelivery> {
    const webhook = this.#find(name)
    const nowMs = this.#options.now()
    const scheme = schemeOf(webhook.signature)
    scheme.verify(request, this.#secretsOf(webhook), nowMs)
    const body = parseWebhookBody(request.rawBody, request.headers.get('content-type') ?? '')
    const answer = scheme.answerTo?.(body)
    const isMeant = webhook.when.every((condition) => holds(condition, request.headers, body))
    if (!isMeant || (webhook.signature.scheme === 'slack' && isSlackChallenge(body))) {
      return { outcome: 'ignored', runId: null, answer }
    }

    const delivery = declaredDelivery(webhook, request, body) ?? scheme.deliveryOf(request, body)
    if (delivery === undefined || delivery === '') throw nameless()
    const { headers } = request
    const receivedAt = new Date(nowMs).toISOString()
    const input = fillTemplate(webhook.input as Json, { body, headers, delivery, receivedAt })
    return { ...(await this.#fire(name, webhook, delivery, input)), answer }
  }

  async #fire(
    name: string,
    webhook: WebhookDeclaration,
    delivery: string,
    input: Json,
  ): Promise<Omit<ReceivedDelivery, 'answer'>> {
    const { workspaceId, store, runs, flows, starter, log } = this.#options
    const { flow, env, pool } = webhook
    // Refused before it is recorded: the sender, or whoever repeats it, is told each time.
    checkStorable(input)
    await flows.checkInput(flow, input)
    const placement = await runs.placementOf(flow, webhook.placement, pool)
    const key: FiringKey = { workspaceId, kind: 'webhook', name, occurrence: plain(delivery) }
    const start = { flow, input, env, placement, pool: pool ?? null }
    const { firing, created } = await store.recordDelivery(key, start)
    if (created) return { outcome: 'started', runId: await starter.start(firing) }
    log.info({ trigger: name, kind: 'webhook', workspace: workspaceId, runId: firing.runId }, 'webhook.repeated')
    return { outcome: 'repeated', runId: firing.runId }
  }

  #find(name: string): WebhookDeclaration {
    const { webhooks } = this.#options
    if (Object.hasOwn(webhooks, name)) return webhooks[name]!
    throw new StarflowError({
      code: 'SF921',
      message: 'There is no such webhook.',
      detail: 'No webhook of this name is declared in the starflow.yaml of this server.',
      hint: 'Compare the last part of the address with the names under webhooks.',
    })
  }

  /** Those that are set: the check at the start has seen that all are. */
  #secretsOf({ signature }: WebhookDeclaration): readonly string[] {
    return signature.secrets.flatMap((variable) => this.#options.env[variable]?.trim() || [])
  }
}

function holds(condition: Condition, headers: Headers, body: Json): boolean {
  const value = 'header' in condition ? headers.get(condition.header) : valueAt(body, pointerParts(condition.field))
  return condition.in.some((wanted) => wanted === value)
}

function declaredDelivery({ delivery }: WebhookDeclaration, request: SignedRequest, body: Json): string | undefined {
  if (delivery === undefined) return undefined
  if (delivery === 'body') return digestOf(request)
  if ('header' in delivery) return request.headers.get(delivery.header) ?? ''
  const value = valueAt(body, pointerParts(delivery.field))
  // A number that would be rounded is text here, with all of its digits (see parseWebhookBody).
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function digestOf({ rawBody }: SignedRequest): string {
  return createHash('sha256').update(rawBody).digest('hex')
}

function plain(delivery: string): string {
  return PLAIN_DELIVERY.test(delivery) ? delivery : `sha256-${createHash('sha256').update(delivery).digest('hex')}`
}

function checkStorable(input: Json): void {
  const rounded = findStandIn(input)
  if (rounded !== undefined) {
    throw new StarflowError({
      code: 'SF923',
      message: 'The delivery cannot be the input of a run.',
      detail: `In the input ${roundedNumberProblem(rounded)}`,
      hint: 'Take it from a field that has it as text, or let the sender send it as text. Nothing was started.',
      fields: { path: rounded },
    })
  }
  try {
    toJsonText(input)
  } catch (error) {
    if (!(error instanceof InvalidOutputError)) throw error
    throw new StarflowError({
      code: 'SF923',
      message: 'The delivery cannot be the input of a run.',
      detail: 'It has text that Postgres cannot keep: a NUL, or half of a surrogate pair.',
      hint: 'Let the sender leave it out. Nothing was started.',
    })
  }
}

function nameless(): StarflowError {
  return new StarflowError({
    code: 'SF923',
    message: 'The delivery has no id.',
    detail: 'Without one, the same delivery again would start a second run.',
    hint: 'Declare where it stands, as delivery of the webhook in starflow.yaml. Nothing was started.',
  })
}

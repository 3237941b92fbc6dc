import { z } from 'zod'
import type { WebhookReceiver } from '../../triggers/webhook-receiver.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import * as schema from '../schemas.ts'

/** Where senders deliver to: authenticated by signature, each webhook by its own. */
export function webhookEndpoints(receiver: WebhookReceiver): Endpoint[] {
  return [
    endpoint({
      ...{ id: 'receiveWebhook', method: 'post', path: '/webhooks/{name}', tag: 'Webhooks', access: 'public' },
      summary: 'Deliver to a webhook that starflow.yaml declares',
      description:
        'The signature is the right to do so. The same delivery again starts nothing, and is answered with the run of the first one. The body is JSON or a form, whatever the sender of the scheme sends.',
      params: z.object({ name: schema.name }),
      takesRawBody: true,
      answers: {
        202: {
          description: 'The delivery started a run.',
          schema: z.object({ outcome: z.literal('started'), runId: schema.runId }),
        },
        200: {
          description: 'It started nothing: it had started its run before, or the webhook is not for it.',
          schema: z.object({ outcome: z.enum(['repeated', 'ignored']), runId: schema.runId.nullable() }),
        },
      },
      errors: ['SF201', 'SF203', 'SF910', 'SF921', 'SF922', 'SF923', 'SF924'],
      handle: async ({ params, headers, rawBody }) => {
        const { outcome, runId, answer } = await receiver.receive(params.name, { headers, rawBody })
        if (answer !== undefined) return new Response(answer, { headers: { 'content-type': 'text/plain' } })
        return { status: outcome === 'started' ? 202 : 200, body: { outcome, runId } }
      },
    }),
  ]
}

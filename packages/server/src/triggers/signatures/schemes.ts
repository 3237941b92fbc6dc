import type { SignatureDeclaration } from '../declarations.ts'
import { genericHmac } from './generic-hmac.ts'
import { github } from './github.ts'
import type { SignatureScheme } from './signature-scheme.ts'
import { slack } from './slack.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'

/** The scheme that a webhook declares. */
export function schemeOf(declaration: SignatureDeclaration): SignatureScheme {
  if (declaration.scheme === 'hmac') return genericHmac(declaration)
  return { github, stripe, slack, 'standard-webhooks': standardWebhooks }[declaration.scheme]
}

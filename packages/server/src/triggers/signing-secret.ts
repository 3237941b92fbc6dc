import { MIN_WEBHOOK_SECRET_LENGTH } from '../numbers.ts'

/** Why what an environment variable holds can sign nothing of this scheme; undefined when it can. Never with the value. */
export function secretProblem(variable: string, value: string, scheme: string): string | undefined {
  if (value === '') return `the environment variable ${variable} is not set.`
  if (value.length < MIN_WEBHOOK_SECRET_LENGTH) {
    return `the secret in ${variable} must have at least ${MIN_WEBHOOK_SECRET_LENGTH} characters.`
  }
  if (scheme === 'standard-webhooks' && !/^(?:whsec_)?[A-Za-z0-9+/]+={0,2}$/.test(value)) {
    return `the secret in ${variable} must be base64, behind whsec_.`
  }
  return undefined
}

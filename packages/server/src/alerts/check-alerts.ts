import type { Declarations } from '../triggers/declarations.ts'
import type { LocatedProblem } from '../triggers/read-declarations.ts'
import { secretProblem } from '../triggers/signing-secret.ts'

/** What the webhooks of alerts lack in the environment. */
export function alertSecretProblems(
  { alerts }: Pick<Declarations, 'alerts'>,
  env: Readonly<Record<string, string | undefined>>,
): LocatedProblem[] {
  return Object.entries(alerts?.webhooks ?? {}).flatMap(([name, { url, secrets }]) => {
    const path = ['alerts', 'webhooks', name]
    const isReachable = typeof url === 'string' || isWebAddress(env[url.variable]?.trim() ?? '')
    return [
      ...(isReachable
        ? []
        : [
            {
              path: [...path, 'url'],
              message: `the environment variable ${url.variable} holds no URL that begins with https:// or http://.`,
            },
          ]),
      ...secrets.flatMap((variable, index) => {
        const problem = secretProblem(variable, env[variable]?.trim() ?? '', 'standard-webhooks')
        return problem === undefined ? [] : [{ path: [...path, 'secrets', index], message: problem }]
      }),
    ]
  })
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

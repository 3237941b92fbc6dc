/** Runs all checks against the platform that the environment names, and prints one line of JSON for each. */
import { type ClientFacts, problemOf } from './client-check.ts'
import { clientChecks } from './client-checks.ts'

declare const Deno: { readonly env: { get(name: string): string | undefined }; exit(code: number): never }

const facts = JSON.parse(Deno.env.get('CLIENT_FACTS') ?? '{}') as ClientFacts
for (const check of clientChecks) {
  console.log(JSON.stringify({ title: check.title, problem: await problemOf(check, facts) }))
}
Deno.exit(0)

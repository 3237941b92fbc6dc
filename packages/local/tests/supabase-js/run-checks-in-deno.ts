/** Runs all checks against the platform that the environment names, and prints one line of JSON for each. */
import postgres from 'postgres'
import { realtimeChecks } from './realtime-checks.ts'
import { restChecks } from './rest-checks.ts'
import type { CheckContext } from './supabase-check.ts'

declare const Deno: { readonly env: { get(name: string): string | undefined }; exit(code: number): never }

const { databaseUrl, ...facts } = JSON.parse(Deno.env.get('CHECK_CONTEXT') ?? '{}') as Omit<CheckContext, 'sql'> & {
  databaseUrl: string
}
const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
const context: CheckContext = { ...facts, sql: (text) => sql.unsafe(text).simple() }

for (const { title, run } of [...restChecks, ...realtimeChecks]) {
  const problem = await run(context).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
  )
  console.log(JSON.stringify({ title, problem }))
}
await sql.end()
Deno.exit(0)

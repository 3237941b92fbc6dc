import type { Json } from '@starflow/dsl'
import type { Sql } from 'postgres'

/** A secret that tests sign with. Not secret. */
export const TEST_SECRET = 'not-a-secret-but-long-enough-for-sha256'

/** Puts a key for wait tokens into Vault, in place of one of that name. */
export async function setWaitKey(sql: Sql, secret: string | null = TEST_SECRET, kid = 'default'): Promise<void> {
  const name = `starflow_wait_token_secret${kid === 'default' ? '' : `_${kid}`}`
  await sql`delete from vault.secrets where name = ${name}`
  if (secret !== null) await sql`select vault.create_secret(${secret}, ${name})`
}

export async function issueToken(
  sql: Sql,
  runId: string,
  stepSlug: string,
  expiresIn: string | null = null,
): Promise<string> {
  const [row] = await sql<[{ token: string }]>`
    select pgflow.issue_wait_token(${runId}, ${stepSlug}, ${expiresIn}::text::interval) as token`
  return row.token
}

/** What became of a resume. */
export async function resume(sql: Sql, token: string, payload: Json = null): Promise<string> {
  const [row] = await sql<[{ outcome: string }]>`
    select outcome from pgflow.resume_wait(${token}, ${JSON.stringify(payload)}::text::jsonb)`
  return row.outcome
}

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { CompiledFlow } from './support/compiled-flow.ts'
import { refusal } from './support/refusal.ts'
import { shape } from './support/shape.ts'
import { issueToken, resume, setWaitKey, TEST_SECRET } from './support/wait-tokens.ts'

interface Vectors {
  keys: { kid: string; secret: string }[]
  tokens: {
    claim: string
    kid: string
    claims: { placement: string; runId: string; stepSlug: string; expiresAt: number }
    token: string
  }[]
  refused: { claim: string; token: string; code: string }[]
}

const vectors = JSON.parse(
  readFileSync(new URL('../../engine/vectors/wait-tokens.json', import.meta.url), 'utf8'),
) as Vectors
const database = await testDatabase()
const { sql } = database

let count = 0
const openRun = async () => {
  const flow = await CompiledFlow.compileShape(sql, `token${++count}`, shape({ approve: { wait: true } }), 'flow')
  const [runId] = await flow.start({})
  return { flow, runId: runId! }
}
const signWith = (kid: string | null) => sql`select pgflow.set_setting('wait_token_kid', ${kid})`

beforeEach(async () => {
  await sql`delete from vault.secrets`
  for (const { kid, secret } of vectors.keys) await setWaitKey(sql, secret, kid)
})
afterEach(() => signWith(null))

describe('SQL agrees with the vectors of wait tokens', () => {
  test.each(vectors.tokens)('signs and reads $claim', async ({ kid, claims, token }) => {
    const { placement, runId, stepSlug, expiresAt } = claims
    const { secret } = vectors.keys.find((key) => key.kid === kid)!
    expect(
      await sql`select pgflow._sign_wait_token(${placement}, ${runId}, ${stepSlug}, ${expiresAt}, ${kid}, ${secret}) as token`,
    ).toEqual([{ token }])
    expect(await sql`select * from pgflow._read_wait_token(${token})`).toEqual([
      { placement, run_id: runId, step_slug: stepSlug },
    ])
  })

  test.each(vectors.refused)('refuses $claim', async ({ token, code }) => {
    expect(await refusal(sql`select pgflow.resume_wait(${token}, '1')`)).toMatchObject({ code })
  })
})

describe('a token', () => {
  test('is signed by the key that the setting names, with its name in it', async () => {
    const { runId } = await openRun()
    expect(await issueToken(sql, runId, 'approve')).toMatch(/^sfw1\.default\./)
    await signWith('2026-b_Next')
    expect(await issueToken(sql, runId, 'approve')).toMatch(/^sfw1\.2026-b_Next\./)
  })

  test('of a key that no longer signs is good until that key is deleted', async () => {
    const { runId } = await openRun()
    const token = await issueToken(sql, runId, 'approve')
    await signWith('long')
    const other = await issueToken(sql, runId, 'approve')
    await setWaitKey(sql, null, 'default')
    expect(await refusal(resume(sql, token))).toMatchObject({ code: 'SF207' })
    expect(await resume(sql, other)).toBe('accepted')
  })

  test('verified by another key of the same name is refused', async () => {
    const { runId } = await openRun()
    const token = await issueToken(sql, runId, 'approve')
    await setWaitKey(sql, `${TEST_SECRET}-changed`)
    expect(await refusal(resume(sql, token))).toMatchObject({ code: 'SF207' })
  })

  test('of a secret that is too short is refused, genuine or not', async () => {
    const { runId } = await openRun()
    await setWaitKey(sql, 'guessable', 'short')
    const [row] = await sql<[{ token: string }]>`
      select pgflow._sign_wait_token('queue', ${runId}, 'approve', 4102444800, 'short', 'guessable') as token`
    expect(await refusal(resume(sql, row.token))).toMatchObject({ code: 'SF207' })
  })

  test('is refused in one text, whatever is wrong with it', async () => {
    const texts = new Set<string>()
    for (const { token, code } of vectors.refused) {
      if (code === 'SF207') texts.add(JSON.stringify(await refusal(sql`select pgflow.resume_wait(${token}, '1')`)))
    }
    expect([...texts]).toEqual([
      JSON.stringify({
        code: 'SF207',
        message: 'This token is not valid.',
        detail: 'It is not one of ours, it was changed, or its key has been retired.',
        hint: 'Ask whoever sent it for a new one.',
      }),
    ])
    expect(await refusal(sql`select pgflow.resume_wait(null, '1')`)).toMatchObject({ code: 'SF207' })
  })

  test('expires on the clock of the database, and its wait stays open', async () => {
    const { runId } = await openRun()
    const expired = await sql.begin(async (tx) => {
      await tx`select pgflow.set_setting('test_clock', 'on')`
      await tx`select set_config('pgflow.test_now', (now() - interval '8 days')::text, true)`
      const token = await issueToken(tx as never, runId, 'approve')
      await tx`select pgflow.set_setting('test_clock', null)`
      return token
    })
    expect(await refusal(resume(sql, expired))).toMatchObject({ code: 'SF208', message: 'This token has expired.' })
    expect(await resume(sql, await issueToken(sql, runId, 'approve'))).toBe('accepted')
  })

  test('for a run that is executed elsewhere, or that is not there, is told so', async () => {
    const sign = async (placement: string, runId: string, stepSlug: string) => {
      const [row] = await sql<[{ token: string }]>`
        select pgflow._sign_wait_token(${placement}, ${runId}, ${stepSlug}, 4102444800, 'default', ${vectors.keys[0]!.secret}) as token`
      return row.token
    }
    const { runId } = await openRun()
    expect(await refusal(resume(sql, await sign('runner', runId, 'approve')))).toMatchObject({
      code: 'SF209',
      message: 'This token is for a wait of a run with placement "runner".',
    })
    for (const token of [await sign('queue', randomUUID(), 'approve'), await sign('queue', runId, 'other')]) {
      expect(await refusal(resume(sql, token))).toMatchObject({ code: 'SF209' })
    }
  })
})

describe('who may', () => {
  test.each(['anon', 'authenticated'] as const)('%s may do nothing by default', async (role) => {
    const client = database.as(role)
    const { runId } = await openRun()
    expect(await refusal(client`select pgflow.issue_wait_token(${runId}, 'approve')`)).toMatchObject({ code: '42501' })
    expect(await refusal(client`select pgflow.resume_wait('x')`)).toMatchObject({ code: '42501' })
    expect(await refusal(client`select from pgflow.waits`)).toMatchObject({ code: '42501' })
  })

  test('a role with client access resumes with a token, and issues none, not even for a run of its own', async () => {
    const { flow } = await openRun()
    await sql`select pgflow.grant_client_access('authenticated')`
    const [me, other] = [randomUUID(), randomUUID()].map((sub) =>
      database.as('authenticated', { claims: { sub, role: 'authenticated' } }),
    ) as [typeof sql, typeof sql]
    const [run] = await me<[{ run_id: string }]>`select run_id from pgflow.start_flow(${flow.slug}, '{}')`
    expect(await refusal(me`select pgflow.issue_wait_token(${run.run_id}, 'approve')`)).toMatchObject({ code: '42501' })
    expect(await refusal(me`select from pgflow.open_waits`)).toMatchObject({ code: '42501' })
    // Whoever holds the token decides, whoever's run it is.
    expect(await resume(other, await issueToken(sql, run.run_id, 'approve'), 'ok')).toBe('accepted')
    await sql`select pgflow.revoke_client_access('authenticated')`
    expect(await refusal(resume(other, 'x'))).toMatchObject({ code: '42501' })
  })

  test('anon resumes with a token where it is given that one function', async () => {
    await sql`grant usage on schema pgflow to anon`
    await sql`grant execute on function pgflow.resume_wait(text, jsonb) to anon`
    const { runId } = await openRun()
    expect(await resume(database.as('anon'), await issueToken(sql, runId, 'approve'), 'ok')).toBe('accepted')
    await sql`revoke execute on function pgflow.resume_wait(text, jsonb) from anon`
    await sql`revoke usage on schema pgflow from anon`
  })

  test('service_role issues and resumes, without reading Vault itself', async () => {
    const service = database.as('service_role')
    const { runId } = await openRun()
    expect(await resume(service, await issueToken(service, runId, 'approve'), 'ok')).toBe('accepted')
  })
})

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import postgres from 'postgres'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { STARFLOW } from '../../../tests/support/compiled.ts'
import { SampleProject } from './support/sample-project.ts'

const FLOW = `
import { Flow } from '@starflow/dsl'
export const greet = new Flow<{ name: string }>({ slug: 'greet' }).step({ slug: 'say' }, ({ name }) => 'hello ' + name)
`
const TALKING = `
import { Flow, withStepQueues } from '@starflow/dsl'
export const greet = withStepQueues(new Flow<{ name: string }>({ slug: 'greet', maxAttempts: 2, baseDelay: 1 })
  .step({ slug: 'say' }, ({ name }, ctx) => {
    ctx.logger.info('greeting', { name })
    return 'hello'
  })
  .step({ slug: 'fail', dependsOn: ['say'] }, () => {
    throw new RangeError('no such person')
  }))
`

const OTHER = FLOW.replaceAll('greet', 'other')

const project = new SampleProject({ 'supabase/functions/_flows/greet.ts': FLOW })
const talking = new SampleProject({
  'supabase/functions/_flows/greet.ts': TALKING,
  'supabase/functions/_flows/other.ts': OTHER,
})
const children = new Set<ChildProcess>()
afterEach(async () => {
  for (const child of children) {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  }
})
afterAll(() => {
  project.dispose()
  talking.dispose()
})

function startDev(cwd: string, ...options: string[]): ChildProcess {
  const child = spawn(process.execPath, [...STARFLOW, 'dev', ...options], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

test('starflow dev warns before it starts when the workers need more connections than its database takes', async () => {
  const steps = Array.from({ length: 26 }, (_, n) => `.step({ slug: 's${n}' }, () => ${n})`)
  const wide = new SampleProject({
    'supabase/functions/_flows/wide.ts': `import { Flow, withStepQueues } from '@starflow/dsl'
      export const wide = withStepQueues(new Flow({ slug: 'wide' })${steps.join('')})`,
  })
  const child = startDev(wide.root)
  const [said] = await once(child.stderr!, 'data')
  expect(String(said)).toContain(
    'warning: The workers need up to 208 database connections, and the database of `starflow dev` takes 200. With `npx starflow functions generate --grouped` it is 14.',
  )
  child.kill('SIGINT')
  await once(child, 'exit')
  wide.dispose()
})

test('starflow dev serves flows, follows edits, reports a broken one, and ends with Ctrl-C', async () => {
  const child = startDev(project.root, '--json')
  child.stderr?.resume()
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const next = async (wanted: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> => {
    for (;;) {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('starflow dev ended early')
      const line = JSON.parse(value as string) as Record<string, unknown>
      if (wanted(line)) return line
    }
  }

  const ready = await next((line) => line.event === 'ready' || line.error !== undefined)
  expect(ready).toMatchObject({ functions: ['greet'], flows: ['greet'] })
  await next((line) => line.event === 'function.log' && /worker\.started/.test(String(line.line)))

  project.write('supabase/functions/_flows/part.ts', FLOW.replaceAll('greet', 'part'))
  const sql = postgres(String(ready.databaseUrl), { max: 1 })
  const isTracked = async (name: string) =>
    (await sql`select from pgflow.worker_functions where function_name = ${name}`).length > 0
  await vi.waitUntil(() => isTracked('part'), { timeout: 60_000 })

  project.write('supabase/functions/_flows/part.ts', 'export const part = = 1\n')
  expect(await next((line) => line.error !== undefined)).toMatchObject({
    error: { code: 'SF611', fields: { line: 1 } },
  })

  // A function that no step needs any longer is not started again, though it is still there.
  project.remove('supabase/functions/_flows/part.ts')
  await vi.waitUntil(async () => !(await isTracked('part')), { timeout: 60_000 })
  await sql.end()

  child.kill('SIGINT')
  const [exitCode] = await once(child, 'exit')
  expect(exitCode).toBe(130)
  await expect(fetch(`${ready.apiUrl}/health`)).rejects.toThrow()
})

test('a person reads what handlers say, why attempts fail, and one line for each edit or mistake', async () => {
  const child = startDev(talking.root)
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const said = async (text: string | RegExp) => {
    const isThere = () => (typeof text === 'string' ? output.includes(text) : text.test(output))
    await vi.waitUntil(isThere, { timeout: 60_000 }).catch(() => {
      throw new Error(`not said: ${text}\n${output}`)
    })
  }
  await said('Ready in ')
  // The link alone signs in, and the page is behind it.
  const [, address, code] = /Dashboard: (http:.*)\/sign-in#code=(\S+)/.exec(output) ?? []
  const page = await fetch(`${address}/sign-in`)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>Starflow</title>')])
  const signIn = await fetch(`${address}/api/session/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  expect(await signIn.json()).toMatchObject({ kind: 'operator' })
  expect(output).toMatch(/^Flows: +greet, other$/m)
  expect(output).toMatch(
    /^psql "postgres:\/\/\S+" -c "select run_id, status from pgflow.start_flow\('greet', '\{\}'\)"$/m,
  )
  expect(output).not.toContain('worker.')

  const databaseUrl = /^Database: +(\S+)$/m.exec(output)![1]!
  const sql = postgres(databaseUrl, { max: 1 })
  const [run] = await sql`select run_id, status from pgflow.start_flow('greet', ${sql.json({ name: 'Ada' })})`
  const id = String(run!.run_id).slice(0, 8)
  await said(`say  greeting  {"name":"Ada"}  (run ${id}…, attempt 1)`)
  await said(`fail  ERROR failed: RangeError: no such person  (run ${id}…, attempt 1)`)
  await said(/ {2}at supabase\/functions\/_flows\/greet\.ts:\d+:\d+\n {2}retry 2 of 2 in [12] s/)
  await said('that was attempt 2 of 2')
  await said(`greet  ERROR run ${id}… failed at step fail after `)
  const [other] = await sql`select run_id from pgflow.start_flow('other', '{"name": "Grace"}')`
  await said(`other  run ${String(other!.run_id).slice(0, 8)}… completed in `)
  expect(output).not.toContain('Grace')

  const file = join(talking.root, 'supabase/functions/_flows/greet.ts')
  const saveByRename = (text: string) => {
    talking.write('draft.ts', text)
    renameSync(join(talking.root, 'draft.ts'), file)
  }
  for (const count of [1, 2]) {
    saveByRename(`${TALKING}// edit ${count}\n`)
    await vi.waitUntil(() => output.match(/greet\.ts changed: 2 workers restarted in /g)?.length === count, {
      timeout: 60_000,
    })
  }

  const before = output.length
  saveByRename(TALKING.replace("'say' }", "'s__ay' }"))
  await said('SF611')
  // The workers are pinged each second: three pings later nothing more has been said of it.
  await sql`select pg_sleep(3)`
  await sql.end()
  expect(output.slice(before).match(/error SF\d+/g)).toEqual(['error SF611'])
  expect(output.slice(before)).toMatch(/greet\.ts:4\b/)

  const second = startDev(talking.root)
  let refusal = ''
  second.stderr!.setEncoding('utf8').on('data', (text: string) => {
    refusal += text
  })
  saveByRename(TALKING)
  const [exitCode] = await once(second, 'close')
  expect(exitCode).toBe(1)
  expect(refusal).toContain('error SF507')
  expect(refusal).toContain(databaseUrl)
})

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { SampleProject } from './support/sample-project.ts'

const PROGRAM = fileURLToPath(new URL('../bin/starflow.mjs', import.meta.url))
const FLOW = `
import { Flow } from '@starflow/dsl'
export const greet = new Flow<{ name: string }>({ slug: 'greet' }).step({ slug: 'say' }, ({ name }) => 'hello ' + name)
`

const project = new SampleProject({ 'supabase/functions/_flows/greet.ts': FLOW })
let child: ChildProcess | undefined
afterAll(() => {
  child?.kill('SIGKILL')
  project.dispose()
})

test('starflow dev serves flows, follows edits, reports a broken one, and ends with Ctrl-C', async () => {
  child = spawn(process.execPath, [PROGRAM, 'dev', '--json'], {
    cwd: project.root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
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
  expect(ready).toMatchObject({ functions: ['greet'] })
  await next((line) => line.event === 'function.log' && /worker\.started/.test(String(line.line)))

  project.write('supabase/functions/_flows/part.ts', FLOW.replaceAll('greet', 'part'))
  const sql = postgres(String(ready.databaseUrl), { max: 1 })
  while ((await sql`select from pgflow.worker_functions where function_name = 'part'`).length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await sql.end()

  project.write('supabase/functions/_flows/part.ts', 'export const part = = 1\n')
  expect(await next((line) => line.error !== undefined)).toMatchObject({
    error: { code: 'SF611', fields: { line: 1 } },
  })

  child.kill('SIGINT')
  const [exitCode] = await once(child, 'exit')
  expect(exitCode).toBe(130)
  await expect(fetch(`${ready.apiUrl}/health`)).rejects.toThrow()
}, 60_000)

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { afterAll, expect, test, vi } from 'vitest'
import { SampleProject } from './support/sample-project.ts'
import { endStarflowProcesses, type StarflowProcess, startStarflow } from './support/starflow-process.ts'

/** The page is followed from top to bottom: its files are written, its commands typed, in three terminals. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const PAGE = readFileSync(`${ROOT}docs/guides/three-homes.md`, 'utf8')
/** As a clone is: with the repository's settings, and a flow of others beside the one of the page. */
const project = new SampleProject({
  'starflow.config.json': readFileSync(`${ROOT}starflow.config.json`, 'utf8'),
  'deno.json': '{ "nodeModulesDir": "manual", "workspace": ["functions/*"] }',
  'functions/_flows/other.ts': `
    import { Flow } from '@starflow/dsl'
    export const other = new Flow({ slug: 'otherV1' }).step({ slug: 'only' }, () => null)
  `,
})
let sql: postgres.Sql | undefined

vi.setConfig({ testTimeout: 240_000 })

afterAll(async () => {
  await sql?.end({ timeout: 1 })
  await endStarflowProcesses()
  project.dispose()
})

/** The blocks of a language, in order. */
function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text]) =>
    text!.trim(),
  )
}

/** Reads a line as a shell does, as far as the page has it: words and single quotes. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)
}

test('the commands of the guide run one flow on SQLite, on a runner and on step queues, to the same output', async () => {
  const commands = blocks('sh')
  let env: Record<string, string> = {}
  const type = (): StarflowProcess => {
    const [npx, starflow, ...args] = words(commands.shift()!)
    expect([npx, starflow]).toEqual(['npx', 'starflow'])
    return startStarflow(project.root, args, { env })
  }
  const said = async (process: StarflowProcess) => {
    expect(await process.ended, process.lines.join('\n')).toBe(0)
    return process.lines.join('\n')
  }

  const [, file] = /Put it into `([^`]+)`/.exec(PAGE)!
  project.write(file!, blocks('ts')[0]!)
  expect(await said(type())).toContain('"receipt": "order 7: 50"')
  expect(await said(type())).toMatch(/ordersV1 +runner +success/)

  project.write('supabase/config.toml', `${blocks('toml')[0]!}\n`)
  await said(type())
  const dev = type()
  const address = async (name: string) => (await dev.line(new RegExp(`^${name}: `))).slice(name.length + 1).trim()
  await dev.line(/^Ready in/)
  const addresses = ['API', 'service_role key', 'Database']
  let exported = commands.shift()!
  for (const name of addresses) exported = exported.replace(`<${name}>`, await address(name))
  env = Object.fromEntries(
    words(exported.replace(/^export /, '').replace(/='([^']*)'/g, '=$1')).map((each) => {
      const at = each.indexOf('=')
      return [each.slice(0, at), each.slice(at + 1)]
    }),
  )
  sql = postgres(env.SUPABASE_DB_URL!, { max: 1, onnotice: () => {} })

  const runner = type()
  await runner.line(/^Runs of ordersV1, otherV1 are claimed/)
  await said(type())
  expect(await said(type())).toContain('"receipt": "order 8: 50"')
  await runner.line(/run\.claimed/)
  runner.child.kill('SIGTERM')
  expect(await runner.ended).toBe(0)

  await said(type())
  const [query] = blocks('sql')
  await expect
    .poll(async () => [...(await sql!.unsafe(query!))], { timeout: 60_000 })
    .toEqual([{ status: 'completed', output: { receipt: 'order 9: 50' } }])
  expect(commands).toEqual([])
  dev.child.kill('SIGTERM')
  await dev.ended
})

import { join } from 'node:path'
import type { Declarations } from '@starflow/server'
import type { Command } from 'commander'
import type { Output, OutputFor } from '../output/output.ts'
import { textTable } from '../output/text-table.ts'
import { loadProjectFlows } from '../project/load-flows.ts'
import { loadProject } from '../project/project.ts'

/** Adds `starflow config …`. */
export function addConfigCommands(program: Command, outputFor: OutputFor): void {
  const config = program
    .command('config')
    .description('The file that declares triggers, webhooks, runner pools and alerts.')
  config
    .command('check')
    .description('Check the file, against the flows of the project too, and print what it declares. It starts nothing.')
    .argument('[file]', 'the file; default starflow.yaml at the root of the project')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nEvery problem is told with its line and column. A flow that is only compiled in the database is not known here; whether the\nsecrets of webhooks and alerts are set, the server looks at its start.',
    )
    .action((file: string | undefined, options: { json?: boolean }) => runCheck(file, outputFor(options)))
}

async function runCheck(named: string | undefined, output: Output): Promise<void> {
  // Only here: it brings the whole server, for which no other command should wait.
  const { loadDeclarations } = await import('@starflow/server')
  const project = await loadProject(process.cwd())
  const file = named ?? join(project.root, 'starflow.yaml')
  const flows = await loadProjectFlows(project)
  const declarations = await loadDeclarations(file, { flows, compiledFlows: [], env: undefined })
  const secrets = secretsOf(declarations)
  output.result({ file, ...declarations, secrets })
  output.line(`${file} is good.`)
  for (const line of tablesOf(declarations)) output.line(line)
  if (secrets.length > 0) output.line(`\nThe server needs these variables: ${secrets.join(', ')}`)
}

function secretsOf({ webhooks, alerts }: Declarations): string[] {
  const ofAlerts = Object.values(alerts?.webhooks ?? {}).flatMap(({ url, secrets }) => [
    ...(typeof url === 'string' ? [] : [url.variable]),
    ...secrets,
  ])
  return [...new Set([...Object.values(webhooks).flatMap(({ signature }) => signature.secrets), ...ofAlerts])].sort()
}

function tablesOf({ triggers, webhooks, pools, alerts }: Declarations): string[] {
  const told = Object.entries(alerts?.webhooks ?? {})
  const tables = [
    textTable(
      [{ title: 'trigger' }, { title: 'flow' }, { title: 'cron' }, { title: 'time zone' }, { title: 'catch up' }],
      Object.entries(triggers).map(([name, each]) => [name, each.flow, each.cron, each.timeZone, each.catchUp]),
    ),
    textTable(
      [{ title: 'webhook' }, { title: 'flow' }, { title: 'address' }, { title: 'signature' }],
      Object.entries(webhooks).map(([name, { flow, signature }]) => [
        ...[name, flow, `/webhooks/${name}`, signature.scheme],
      ]),
    ),
    textTable(
      [{ title: 'pool' }, { title: 'concurrency' }],
      Object.entries(pools).map(([name, { concurrency }]) => [name, String(concurrency ?? '')]),
    ),
    textTable(
      [{ title: 'alerts go to' }, { title: 'url' }, { title: 'rules' }],
      told.map(([name, { url, rules }]) => [
        ...[name, typeof url === 'string' ? url : `that of ${url.variable}`, rules?.join(', ') ?? 'all'],
      ]),
    ),
  ]
  const counts = [...[triggers, webhooks, pools].map((section) => Object.keys(section).length), told.length]
  return tables.filter((_, index) => counts[index]! > 0).flatMap((lines) => ['', ...lines])
}

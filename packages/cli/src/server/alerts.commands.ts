import { join } from 'node:path'
import { StarflowError } from '@starflow/errors'
import type { AlertAnswer, AlertRequest, AlertSample } from '@starflow/server'
import type { Command } from 'commander'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { loadProject } from '../project/project.ts'

interface TestOptions {
  readonly file?: string
  readonly to?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** Adds `starflow alerts …`. */
export function addAlertsCommands(program: Command, outputFor: OutputFor): void {
  const alerts = program.command('alerts').description('Whom the server tells when something is wrong.')
  alerts
    .command('test')
    .description('Send a sample to the webhooks of the alerts, signed as a real one, and tell what they answer.')
    .option('--file <file>', 'the file that declares them; default starflow.yaml at the root of the project')
    .option('--to <name>', 'only this webhook')
    .option('--dry-run', 'print the requests, and send nothing')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nThe secrets are those of this environment. A sample is of type starflow.alert.test.')
    .action((options: TestOptions) => runTest(options, outputFor(options)))
}

async function runTest(options: TestOptions, output: Output): Promise<void> {
  // Only here: it brings the whole server, for which no other command should wait.
  const { alertSamples, sendAlert } = await import('@starflow/server')
  const file = options.file ?? join((await loadProject(process.cwd())).root, 'starflow.yaml')
  const samples = chosen(alertSamples(file, process.env, Date.now()), options.to, file)
  if (options.dryRun === true) {
    output.result({ requests: samples.map(({ webhook, request }) => ({ webhook, ...request })) })
    for (const { webhook, request } of samples) for (const line of requestLines(webhook, request)) output.line(line)
    return
  }
  const answers = await Promise.all(
    samples.map(async ({ webhook, request }) => ({ webhook, ...(await sendAlert(request)) })),
  )
  output.result({ answers })
  for (const answer of answers) output.line(`${answer.webhook}: ${told(answer)}`)
  if (answers.some(({ isTaken }) => !isTaken)) throw new CommandEnded(EXIT_CODES.failed)
}

function chosen(samples: readonly AlertSample[], name: string | undefined, file: string): readonly AlertSample[] {
  const asked = samples.filter(({ webhook }) => name === undefined || webhook === name)
  if (asked.length > 0) return asked
  const names = samples.map(({ webhook }) => webhook)
  throw new StarflowError({
    code: 'SF610',
    message: name === undefined ? `${file} declares nobody to tell.` : `--to cannot be "${name}".`,
    detail:
      names.length === 0 ? 'There is no webhook under alerts.' : `The webhooks under alerts: ${names.join(', ')}.`,
    hint: 'docs/operations/alerts.md shows how one is declared.',
  })
}

function requestLines(webhook: string, { url, headers, body }: AlertRequest): string[] {
  const lines = Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`)
  return [`${webhook}: POST ${url}`, ...lines, '', `  ${body}`, '']
}

function told(answer: AlertAnswer): string {
  return answer.isTaken ? `taken, with status ${answer.status}` : `not taken (${answer.reason})`
}

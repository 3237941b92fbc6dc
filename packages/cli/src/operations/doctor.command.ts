import { type Command, InvalidArgumentError } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import { CommandEnded } from '../output/command-ended.ts'
import { EXIT_CODES } from '../output/exit-codes.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatNumberOf } from '../output/text-table.ts'
import { loadProject } from '../project/project.ts'
import { readConnectionSettings, sameForAll } from './connection-budget.ts'
import { examine, type Finding } from './doctor-checks.ts'

interface DoctorCommandOptions extends DatabaseOptions {
  readonly connections?: number
  readonly json?: boolean
}

/** Adds `starflow doctor`. */
export function addDoctorCommand(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('doctor')
      .description('Look for what is missing or wrong in a database; exit code 1 when there is a problem.')
      .option(
        '--connections <number>',
        'maxPgConnections of every worker (default: what the flow modules of this project set, else 4)',
        wholeNumber,
      ),
  ).action((options: DoctorCommandOptions) => runDoctor(options, outputFor(options)))
}

async function runDoctor(options: DoctorCommandOptions, output: Output): Promise<void> {
  const findings = await withDatabase({ ...options, mayBeEmpty: true }, async ({ sql, source }) => {
    output.line(`Looking at the database of ${source}.\n`)
    const connectionSettings =
      options.connections === undefined
        ? await readConnectionSettings(await loadProject(process.cwd()))
        : sameForAll(options.connections)
    return examine(sql, { connectionSettings, nowMs: Date.now })
  })
  const problems = findings.filter((finding) => finding.status === 'problem').length
  output.result({ findings, problems })
  for (const finding of findings) for (const line of findingLines(finding, output)) output.line(line)
  const warnings = findings.filter((finding) => finding.status === 'warning').length
  const found = problems === 0 ? 'No problem was found' : formatNumberOf(problems, 'problem')
  output.line(`\n${found}${warnings === 0 ? '' : `, ${formatNumberOf(warnings, 'warning')}`}.`)
  if (problems > 0) throw new CommandEnded(EXIT_CODES.failed)
}

function findingLines({ check, status, message, hint }: Finding, { colors }: Output): string[] {
  const mark = { ok: colors.green('ok     '), warning: colors.yellow('warning'), problem: colors.red('problem') }[
    status
  ]
  return [`${mark}  ${check}: ${message}`, ...(hint === undefined ? [] : [`         hint: ${hint}`])]
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is a whole number from 1 on.')
}

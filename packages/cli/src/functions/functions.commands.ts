import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import type { DatabaseOptions } from '../database/open-database.ts'
import type { OutputFor } from '../output/output.ts'
import { type GenerateOptions, generateFunctions } from './generate.command.ts'
import { listFunctions } from './list.command.ts'

/** Adds `starflow functions …`. */
export function addFunctionsCommands(program: Command, outputFor: OutputFor): void {
  const functions = program.command('functions').description('The edge functions that host workers.')
  functions
    .command('generate')
    .description('Write one worker function for each step queue of the flows in _flows, and its entry in config.toml.')
    .option('--check', 'change nothing; fail with a diff where something would change')
    .option('--dry-run', 'change nothing; show what would change')
    .option('--grouped', 'one function with a worker for each step, for all flows; they stay so')
    .option('--no-grouped', 'one function for each step again')
    .option('--yes', 'remove functions that no step needs any longer without asking')
    .option('--json', 'print one JSON object')
    .action((options: GenerateOptions & { json?: boolean }) => generateFunctions(options, outputFor(options)))
  withDatabaseOptions(
    functions.command('list').description('List the worker functions that the database knows, and how they are.'),
  ).action((options: DatabaseOptions & { json?: boolean }) => listFunctions(options, outputFor(options)))
}

import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import type { DatabaseOptions } from '../database/open-database.ts'
import type { OutputFor } from '../output/output.ts'
import { type DeleteFlowOptions, deleteFlow } from './delete.command.ts'
import { listFlows } from './list.command.ts'

/** Adds `starflow flows …`. */
export function addFlowsCommands(program: Command, outputFor: OutputFor): void {
  const flows = program.command('flows').description('The flows that are compiled in a database.')
  withDatabaseOptions(
    flows
      .command('list')
      .description('List the flows with what is open of each version, their steps and their schedules.'),
  ).action((options: DatabaseOptions & { json?: boolean }) => listFlows(options, outputFor(options)))
  withDatabaseOptions(
    flows
      .command('delete')
      .description('Delete a flow with its runs, queues and archives. Refused while a worker of it is alive.')
      .argument('<slug>', 'the concrete flow slug')
      .option('--dry-run', 'delete nothing; count what would go')
      .option('--yes', 'delete without asking'),
  ).action((slug: string, options: DeleteFlowOptions & { json?: boolean }) =>
    deleteFlow(slug, options, outputFor(options)),
  )
}

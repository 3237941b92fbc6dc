import type { Command } from 'commander'

/** Adds the options that every command with a database has. */
export function withDatabaseOptions(command: Command): Command {
  return command
    .option('--database-url <url>', 'the database (default: DATABASE_URL, else the "starflow dev" that runs here)')
    .option('--json', 'print one JSON object')
}

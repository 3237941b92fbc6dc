import type { Command } from 'commander'
import type { Output, OutputFor } from '../output/output.ts'
import { survivingStrayFailures } from '../output/stray-failures.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { loadProjectFlows } from '../project/load-flows.ts'
import { loadProject } from '../project/project.ts'

/** Adds `starflow server`. */
export function addServerCommand(program: Command, outputFor: OutputFor): void {
  program
    .command('server')
    .description('Serve runs over HTTP and execute them, as STARFLOW_ROLE says: edge, runner or both.')
    .addHelpText(
      'after',
      '\nIt is configured by its environment alone: see docs/reference/environment.md. The first SIGTERM or Ctrl-C drains it, the\nsecond one ends it at once. It logs JSON lines.',
    )
    .action(() => {
      const output = outputFor({})
      return survivingStrayFailures(output, () => runServer(output))
    })
}

/** Until it is interrupted; then it drains and ends with 0, so that a process manager sees an orderly end. */
async function runServer(output: Output): Promise<void> {
  // Also while it starts: whoever ends it then gets an orderly end too.
  const interruption = untilInterrupted({ isSilent: !output.isInteractive })
  try {
    // Only here: it brings the HTTP server, SQLite and more, for which no other command should wait.
    const { startServer } = await import('@starflow/server')
    const project = await loadProject(process.cwd())
    const server = await startServer({ flows: await loadProjectFlows(project) })
    if (output.isInteractive) {
      output.line(`Listening at ${server.url} as ${server.identity.role}.`)
      const link = server.signInLink()
      if (link !== undefined) output.line(`Dashboard, signed in (once, for 10 minutes): ${link}`)
    }
    await interruption.ended
    await server.drain()
  } finally {
    interruption.release()
  }
}

import type { AnyFlow } from '@starflow/dsl'
import { chooseSubstrate } from '@starflow/engine'
import type { Command } from 'commander'
import type { Output, OutputFor } from '../output/output.ts'
import { survivingStrayFailures } from '../output/stray-failures.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { loadProjectFlows } from '../project/load-flows.ts'
import { loadProject } from '../project/project.ts'
import { connectHandlers } from '../runs/run-store.ts'
import { readWaitTokenKey } from '../runs/wait-token-key.ts'

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
  const interruption = untilInterrupted({ isSilent: !output.isInteractive, outlivesReader: true })
  try {
    // Only here: it brings the HTTP server, SQLite and more, for which no other command should wait.
    const { startServer } = await import('@starflow/server')
    const project = await loadProject(process.cwd())
    const flows = await loadProjectFlows(project)
    const server = await startServer({ flows, env: withFileSecret(process.env, flows), openResources: openHandlers })
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

/** The same as handlers get in every process of the command line. */
async function openHandlers({ url, databaseId }: { readonly url: string; readonly databaseId: string }) {
  const { lend, close } = await connectHandlers(url, async () => databaseId)
  return { lendSql: lend, close: () => close(1_000) }
}

/** Runs in a file may wait here as they may under `starflow run`: tokens are signed with the secret that stands beside the file. */
function withFileSecret(env: NodeJS.ProcessEnv, flows: readonly AnyFlow[]): NodeJS.ProcessEnv {
  if (!flows.some((flow) => flow.stepOrder.some((slug) => flow.getStepDefinition(slug).stepType === 'wait'))) return env
  const chosen = chooseSubstrate(env)
  if (!('substrate' in chosen) || chosen.substrate.kind !== 'sqlite' || env.STARFLOW_WAIT_TOKEN_SECRET?.trim())
    return env
  const key = readWaitTokenKey(env, { besides: chosen.substrate.path })()
  return key === undefined ? env : { ...env, STARFLOW_WAIT_TOKEN_SECRET: key.secret, STARFLOW_WAIT_TOKEN_KID: key.kid }
}

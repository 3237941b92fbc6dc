import type { Command } from 'commander'
import type { OutputFor } from './output/output.ts'

interface CommandModule {
  /** The commands that it adds. */
  readonly names: readonly string[]
  load(): Promise<(program: Command, outputFor: OutputFor) => void>
}

/** Every command, in the order of the help. */
export const COMMAND_MODULES: readonly CommandModule[] = [
  { names: ['run'], load: async () => (await import('./runs/run.command.ts')).addRunCommand },
  { names: ['start'], load: async () => (await import('./runs/start.command.ts')).addStartCommand },
  { names: ['runs'], load: async () => (await import('./runs/runs.commands.ts')).addRunsCommands },
  { names: ['waits'], load: async () => (await import('./runs/waits.commands.ts')).addWaitsCommands },
  { names: ['runner'], load: async () => (await import('./runs/runner.command.ts')).addRunnerCommand },
  { names: ['runners'], load: async () => (await import('./runs/runners.command.ts')).addRunnersCommand },
  { names: ['dev'], load: async () => (await import('./dev/dev.command.ts')).addDevCommand },
  { names: ['functions'], load: async () => (await import('./functions/functions.commands.ts')).addFunctionsCommands },
  { names: ['flows'], load: async () => (await import('./flows/flows.commands.ts')).addFlowsCommands },
  { names: ['demo'], load: async () => (await import('./demo/demo.command.ts')).addDemoCommand },
  { names: ['deploy'], load: async () => (await import('./deploy/deploy.command.ts')).addDeployCommand },
  { names: ['rollout'], load: async () => (await import('./operations/rollout.command.ts')).addRolloutCommand },
  { names: ['fence', 'restore'], load: async () => (await import('./operations/fence.command.ts')).addFenceCommands },
  {
    names: ['drain-status'],
    load: async () => (await import('./operations/drain-status.command.ts')).addDrainStatusCommand,
  },
  { names: ['overview'], load: async () => (await import('./operations/overview.command.ts')).addOverviewCommand },
  { names: ['coverage'], load: async () => (await import('./operations/coverage.command.ts')).addCoverageCommand },
  { names: ['queues'], load: async () => (await import('./operations/queues.commands.ts')).addQueuesCommands },
  { names: ['prune'], load: async () => (await import('./operations/prune.command.ts')).addPruneCommand },
  { names: ['repair'], load: async () => (await import('./operations/repair.command.ts')).addRepairCommand },
  { names: ['workers'], load: async () => (await import('./operations/workers.command.ts')).addWorkersCommand },
  { names: ['doctor'], load: async () => (await import('./operations/doctor.command.ts')).addDoctorCommand },
  { names: ['server'], load: async () => (await import('./server/server.command.ts')).addServerCommand },
  { names: ['config'], load: async () => (await import('./config/config.commands.ts')).addConfigCommands },
  { names: ['alerts'], load: async () => (await import('./server/alerts.commands.ts')).addAlertsCommands },
  { names: ['tokens'], load: async () => (await import('./server/tokens.commands.ts')).addTokensCommands },
]

/**
 * Adds the command that is asked for, or, when none is known by that name, all of them: for the help, and for telling what there is.
 * No other command's modules are loaded: all of them together take seconds on a slow computer.
 */
export async function addCommands(program: Command, name: string | undefined, outputFor: OutputFor): Promise<void> {
  if (name === '-V' || name === '--version') return
  const asked = COMMAND_MODULES.filter(({ names }) => name !== undefined && names.includes(name))
  const modules = asked.length > 0 ? asked : COMMAND_MODULES
  for (const add of await Promise.all(modules.map(({ load }) => load()))) add(program, outputFor)
}

import { readFileSync } from 'node:fs'
import { StarflowError } from '@starflow/errors'
import { Command, CommanderError } from 'commander'
import { addCommands } from './command-modules.ts'
import { CommandEnded } from './output/command-ended.ts'
import { EXIT_CODES, type ExitCode } from './output/exit-codes.ts'
import { createOutput, type OutputFor, type OutputStreams } from './output/output.ts'
import { printError } from './output/print-error.ts'

/** The command line, as far as these arguments need it. */
async function createProgram(args: readonly string[], outputFor: OutputFor): Promise<Command> {
  const program = new Command('starflow')
    .description('Durable, typed flows on Supabase.')
    .version(version(), '-V, --version', 'print the version')
    .addHelpText(
      'after',
      '\nDocumentation: the folder docs/ of the repository. Every error code has a page in docs/errors/.',
    )
    .showHelpAfterError(false)
  await addCommands(program, args[0], outputFor)
  return program
}

/** Runs one command line (without `node` and the script) and returns the exit code to end with. Never throws. */
export async function runCommandLine(args: readonly string[], streams: OutputStreams = process): Promise<ExitCode> {
  const fallback = createOutput({ json: args.includes('--json') }, streams)
  const program = await createProgram(args, ({ json = false }) => createOutput({ json }, streams))
  try {
    configure(program, streams)
    await program.parseAsync(args, { from: 'user' })
    return EXIT_CODES.ok
  } catch (error) {
    if (error instanceof CommandEnded) return error.exitCode
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT_CODES.ok
      return printError(usageError(program, args, error), fallback)
    }
    return printError(error, fallback)
  }
}

/** No command ends the process or writes by itself: errors come back as exceptions, and help goes to our streams. */
function configure(command: Command, streams: OutputStreams): void {
  command.exitOverride()
  command.configureOutput({
    writeOut: (text) => void streams.stdout.write(text),
    writeErr: () => {},
  })
  // An unknown command is refused with the list of the known ones, not answered with the help of the whole program.
  if (command.commands.length > 0 && command.parent === null) command.allowExcessArguments(false)
  for (const child of command.commands) configure(child, streams)
}

function usageError(program: Command, args: readonly string[], error: CommanderError): StarflowError {
  const command = commandOf(program, args)
  const path = pathOf(command)
  const known = command.commands.map((each) => each.name())
  const isMissing = error.code === 'commander.help' || error.code === 'commander.missingArgument'
  if (known.length > 0 && (isMissing || error.code === 'commander.unknownCommand')) {
    const asked = args.find((arg) => !arg.startsWith('-') && !path.split(' ').includes(arg))
    return new StarflowError({
      code: 'SF610',
      message: asked === undefined ? `"${path}" needs a command.` : `"${path} ${asked}" is not a command.`,
      detail: `Known commands: ${known.map((name) => `${path} ${name}`).join(', ')}.`,
      hint: `See: npx ${path} --help`,
    })
  }
  const options = command.options.map((option) => option.long ?? option.short).join(', ')
  return new StarflowError({
    code: 'SF610',
    message: `${error.message.replace(/^error: /, '').replace(/^./, (letter) => letter.toUpperCase())}.`.replace(
      '..',
      '.',
    ),
    detail: options === '' ? `"${path}" takes no options.` : `Options of "${path}": ${options}.`,
    hint: `See: npx ${path} --help`,
  })
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** The innermost command that the arguments name. */
function commandOf(program: Command, args: readonly string[]): Command {
  let command = program
  for (const arg of args) {
    const child = command.commands.find((each) => each.name() === arg || each.aliases().includes(arg))
    if (child === undefined) return command
    command = child
  }
  return command
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addCommands, COMMAND_MODULES } from './command-modules.ts'

const noOutput = () => {
  throw new Error('Nothing is written here.')
}
const namesOf = (program: Command) => program.commands.map((command) => command.name())

test.each(COMMAND_MODULES)('the module of $names.0 adds just its commands', async ({ names, load }) => {
  const program = new Command()
  const add = await load()
  add(program, noOutput)
  expect(namesOf(program)).toEqual(names)
})

test('a command is added alone, and all of them for any other word', async () => {
  const added = async (name: string | undefined) => {
    const program = new Command()
    await addCommands(program, name, noOutput)
    return namesOf(program)
  }
  const every = COMMAND_MODULES.flatMap(({ names }) => names)
  expect(await added('runs')).toEqual(['runs'])
  expect(await added('--version')).toEqual([])
  for (const word of [undefined, '--help', 'help', 'nonsense']) expect(await added(word)).toEqual(every)
})

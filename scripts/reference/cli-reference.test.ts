import { expect, test } from 'vitest'
import { cliReference, parseHelp } from './cli-reference.ts'

const DEPLOY = `Usage: starflow deploy [options]
                       [names...]

Deploy the generated worker
functions.

Arguments:
  names             worker functions
                    (default: all)

Options:
  --project-ref <ref>  the project: a|b
  -h, --help        display help for command
`

test('help is the same at every width of a terminal', () => {
  expect(parseHelp(DEPLOY)).toEqual({
    usage: 'starflow deploy [options] [names...]',
    description: 'Deploy the generated worker functions.',
    arguments: [{ term: 'names', text: 'worker functions (default: all)' }],
    options: [
      { term: '--project-ref <ref>', text: 'the project: a|b' },
      { term: '-h, --help', text: 'display help for command' },
    ],
    commands: [],
  })
})

test('every command has a section with its arguments and options, but for help', async () => {
  const program = `Usage: starflow\n\nFlows.\n\nOptions:\n  -h, --help  help\n\nCommands:\n  deploy [options]  Deploy.\n  help [command]  help\n`
  const asked: string[] = []
  const page = await cliReference(async (path) => {
    asked.push(path.join(' '))
    return path.length === 0 ? program : DEPLOY
  })
  expect(asked).toEqual(['', 'deploy'])
  expect(page).toContain('## starflow deploy\n\nDeploy the generated worker functions.\n')
  expect(page).toContain(
    '| `names` | worker functions (default: all) |\n| `--project-ref <ref>` | the project: a\\|b |\n',
  )
  expect(page).not.toContain('--help |')
})

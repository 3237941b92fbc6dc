import { enable, type FencedFunction, fence, findFunctions, restore } from '@starflow/core/operations'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { textTable } from '../output/text-table.ts'
import { operatorName } from './operator-name.ts'
import { workerFunctionSet } from './worker-function-set.ts'

interface FenceOptions extends DatabaseOptions {
  readonly flow?: string
  readonly by?: string
  readonly enable?: boolean
  readonly force?: boolean
  readonly json?: boolean
}

/** Adds `starflow fence` and `starflow restore`. */
export function addFenceCommands(program: Command, outputFor: OutputFor): void {
  withDatabaseOptions(
    program
      .command('fence')
      .description('Disable worker functions: they are not pinged, and a worker that runs claims nothing more.')
      .argument('[names...]', 'worker functions')
      .option('--flow <slug>', 'all worker functions of a flow')
      .option('--by <name>', 'who fences; only the same name may fence them again (default: user@host)'),
  ).action((names: string[], options: FenceOptions) => runFence(names, options, outputFor(options)))
  withDatabaseOptions(
    program
      .command('restore')
      .description('Lift the fence of worker functions: each is enabled or disabled again as the fence found it.')
      .argument('[names...]', 'worker functions')
      .option('--flow <slug>', 'all worker functions of a flow')
      .option('--force', 'also while a rollout or deploy is at work on one of them: it is told to stop')
      .option('--enable', 'enable also those that were disabled by hand or by the halt policy'),
  ).action((names: string[], options: FenceOptions) => runRestore(names, options, outputFor(options)))
}

async function runFence(names: readonly string[], options: FenceOptions, output: Output): Promise<void> {
  await withDatabase(options, async ({ sql }) => {
    const set = await workerFunctionSet(sql, names, options.flow)
    const functions = await fence(sql, set, options.by ?? operatorName())
    output.result({ functions })
    for (const line of functionLines(functions)) output.line(line)
    output.line('\nTheir workers claim nothing more and finish what they have started.')
    output.line(`Lift it with: npx starflow restore ${namedSet(names, options.flow)}`)
  })
}

async function runRestore(names: readonly string[], options: FenceOptions, output: Output): Promise<void> {
  await withDatabase(options, async ({ sql }) => {
    const set = await workerFunctionSet(sql, names, options.flow)
    const found = new Map((await findFunctions(sql, set)).map((each) => [each.functionName, each.fencedBy]))
    const restored = await restore(sql, set, { force: options.force === true })
    const functions = options.enable === true ? await enable(sql, set) : restored
    output.result({ functions })
    for (const line of functionLines(functions)) output.line(line)
    const others = [...new Set([...found.values()].filter((by) => by !== null))]
    if (others.length > 0) output.line(`\nThe fence of ${others.join(', ')} is lifted.`)
    const disabled = functions.filter((each) => !each.enabled)
    if (disabled.length > 0 && options.enable !== true) {
      output.line(`\nStill disabled, as the fence found them: ${disabled.map((each) => each.functionName).join(', ')}.`)
      output.line(`Enable them with: npx starflow restore ${namedSet(names, options.flow)} --enable`)
    }
  })
}

/** The same functions, as a person names them again. */
function namedSet(names: readonly string[], flowSlug: string | undefined): string {
  return flowSlug === undefined ? names.join(' ') : `--flow ${flowSlug}`
}

function functionLines(functions: readonly FencedFunction[]): string[] {
  return textTable(
    [
      { title: 'function' },
      { title: 'enabled' },
      { title: 'before the fence' },
      { title: 'fenced by' },
      { title: 'reason' },
    ],
    functions.map((each) => [
      each.functionName,
      String(each.enabled),
      each.enabledBeforeFence === null ? '' : String(each.enabledBeforeFence),
      each.fencedBy ?? '',
      each.disabledReason ?? '',
    ]),
  )
}

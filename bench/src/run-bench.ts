import { BenchCluster } from './cluster.ts'
import { CONTENDERS } from './contenders/all.ts'
import { describeMachine } from './machine.ts'
import type { Row } from './report/row.ts'
import { table } from './report/table.ts'
import type { Bench, Scale, Scenario } from './scenario.ts'
import { judge } from './targets.ts'

export interface BenchOptions {
  readonly quick: boolean
  readonly json: boolean
  readonly only: readonly string[]
  readonly rounds?: string | undefined
  readonly seconds?: string | undefined
}

const QUIET_LOAD = 0.5

/** Runs the scenarios on one server, one after the other, and prints their tables. */
export async function runBench(all: readonly Scenario[], options: BenchOptions): Promise<void> {
  const scenarios = choose(all, options.only)
  const scale = scaleOf(options)
  // Peers call deprecated functions; that is not for the reader of these figures.
  process.noDeprecation = true
  const cluster = await BenchCluster.start()
  // What is under way loses its database; leaving at once is the tidiest end.
  const stop = () => process.exit(130)
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  try {
    const machine = describeMachine(await postgresVersion(cluster), new Date())
    const note = (text: string) => console.error(text)
    if (machine.loadBefore > QUIET_LOAD)
      note(`Load before the start is ${machine.loadBefore}: compare figures, do not quote them.`)
    const bench: Bench = { cluster, scale, note }
    const results: { name: string; rows: readonly Row[] }[] = []
    for (const scenario of scenarios) {
      note(`# ${scenario.title}`)
      const rows = await scenario.run(bench)
      results.push({ name: scenario.name, rows })
      console.log(`\n## ${scenario.title}\n\n${scenario.about}\n\n${table(rows, scenario.columns)}`)
    }
    const targets = judge(results)
    const contenders = CONTENDERS.map(({ name, version, settings }) => ({ name, version, settings }))
    console.log(`\n## Aims\n\n${targets.map(({ text }) => `- ${text}`).join('\n')}`)
    console.log(
      `\n## Systems\n\n${contenders.map(({ name, version, settings }) => `- ${name} (${version}): ${settings}`).join('\n')}`,
    )
    console.log(
      `\n${Object.entries(machine)
        .map(([name, value]) => `${name} ${value}`)
        .join(', ')}`,
    )
    if (options.json)
      console.log(JSON.stringify({ machine, isQuick: scale.isQuick, contenders, results, aims: targets }))
  } finally {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
    await cluster.stop()
  }
}

function choose(all: readonly Scenario[], names: readonly string[]): readonly Scenario[] {
  const unknown = names.filter((name) => !all.some((scenario) => scenario.name === name))
  if (unknown.length > 0) {
    throw new Error(`Unknown scenario ${unknown.join(', ')}. There are: ${all.map(({ name }) => name).join(', ')}.`)
  }
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
}

function scaleOf({ quick, ...given }: BenchOptions): Scale {
  const seconds = Number(given.seconds ?? (quick ? 0.05 : 2))
  return {
    isQuick: quick,
    rounds: Number(given.rounds ?? (quick ? 1 : 3)),
    seconds,
    // Room for a system that is slower than its pace; what it has not done by then does not count.
    limitSeconds: quick ? 1 : 2 + 2 * seconds,
    pick: (full, small) => (quick ? small : full),
  }
}

async function postgresVersion(cluster: BenchCluster): Promise<string> {
  const sql = cluster.superuser('template1')
  const [row] = await sql<[{ version: string }]>`select current_setting('server_version') as version`
  await sql.end()
  return row.version
}

/** Disturbs a running system for a while, and checks that nothing is lost by it: `npm run soak -- --help`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase, parseDatabaseUrl, type Sql } from '@starflow/core'
import { textTable } from '../packages/cli/src/output/text-table.ts'
import { randomFrom } from '../tests/support/random.ts'
import { DISTURBANCES, disturb, FLOWS, restoreEverything } from './soak/disturbances.ts'
import { takeIn } from './soak/intake.ts'
import { judge, type Outcome, openWork } from './soak/outcome.ts'
import { parseSoakOptions, SOAK_HELP, type SoakOptions } from './soak/soak-options.ts'
import { startSoakPlatform } from './soak/soak-platform.ts'
import { Tally } from './soak/tally.ts'

/** A run that has not ended so long after the last disturbance is not going to: attempts, delays and boundaries included. */
const PATIENCE_MS = 6 * 60_000
const PROGRESS_EVERY_MS = 5_000

interface Soak {
  readonly options: SoakOptions
  readonly done: Tally
  readonly notes: readonly string[]
  readonly outcome: Outcome
}

const say = (text: string) => void process.stderr.write(`${text}\n`)

async function soak(options: SoakOptions): Promise<Soak> {
  const notes: string[] = []
  const note = (text: string) => {
    notes.push(text)
    say(text)
  }
  say(`Soaking for ${options.minutes} minutes with seed ${options.seed} ...`)
  const platform = await startSoakPlatform({ keep: options.keep, note })
  const { databaseUrl } = platform.starflow.platform
  const sql = openDatabase(parseDatabaseUrl(databaseUrl), { applicationName: 'soak', connections: 4, prepare: false })
  const done = new Tally(Object.keys(DISTURBANCES))
  const accepted = new Set<string>()
  const handMade = new Set<string>()
  try {
    await compiled(sql)
    const stop = new AbortController()
    const intake = takeIn(sql, randomFrom(options.seed), done, accepted, stop.signal)
    const scene = { platform, sql, random: randomFrom(options.seed + 1), tally: done, handMade, accepted }
    const trouble = disturb(scene, stop.signal)
    const end = performance.now() + options.minutes * 60_000
    while (performance.now() < end) {
      await sleep(Math.max(0, Math.min(PROGRESS_EVERY_MS, end - performance.now())))
      await showProgress(`${Math.max(0, Math.round((end - performance.now()) / 1000))} s to go`)
    }
    stop.abort()
    await Promise.all([intake, trouble])
    await again(() => restoreEverything({ platform, sql }))
    const restoredAt = performance.now()
    say('Everything is restored. Waiting until each run has ended ...')
    const deadline = performance.now() + PATIENCE_MS
    while ((await again(() => openWork(sql))).runs > 0 && performance.now() < deadline) {
      await showProgress('coming to an end')
      await sleep(PROGRESS_EVERY_MS)
    }
    done.add('seconds until each run had ended', Math.round((performance.now() - restoredAt) / 1000))
    return { options, done, notes, outcome: await judge(sql, { handMade, accepted }) }
  } finally {
    await sql.end({ timeout: 1 })
    await platform.dispose()
  }

  async function showProgress(what: string): Promise<void> {
    const open = await openWork(sql).catch(() => undefined)
    say(
      `  ${what}: ${open === undefined ? 'the database is away' : `${open.runs} runs open, ${open.queued} tasks queued, ${open.started} started`}`,
    )
  }
}

/** Until every flow is there: starts before would be refused. */
async function compiled(sql: Sql): Promise<void> {
  while ((await sql`select from pgflow.flows`).length < FLOWS.length) await sleep(100)
}

/** A connection that was cut before is seen now, once for each. */
async function again<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (attempt === 10) throw error
      await sleep(500)
    }
  }
}

function report({ done, notes, outcome }: Soak): string[] {
  const rows = [
    ...Object.entries(outcome.verdict).map(([what, count]) => [what, String(count)]),
    ...done.entries.map(([what, count]) => [what, String(count)]),
    ...Object.entries(outcome.runs).map(([status, count]) => [`runs that are ${status}`, String(count)]),
    ...Object.entries(outcome.tasks).map(([status, count]) => [`tasks that are ${status}`, String(count)]),
    ['attempts handled', String(outcome.attempts)],
    ['transactional effects', String(outcome.effects)],
  ]
  const broken = outcome.broken.flatMap(({ invariant, offenders }) => [
    `Broken: ${invariant} (${offenders.length})`,
    ...offenders.slice(0, 5).map((offender) => `  ${JSON.stringify(offender)}`),
  ])
  return [
    ...textTable([{ title: 'what was done, and came of it' }, { title: 'count', align: 'right' }], rows),
    ...notes.map((text) => `Noted: ${text}`),
    ...broken,
    broken.length + notes.length === 0 ? 'Nothing was lost, done twice or left behind.' : 'Not all is well.',
  ]
}

try {
  const options = parseSoakOptions(process.argv.slice(2))
  if (options === undefined) console.log(SOAK_HELP)
  else {
    const result = await soak(options)
    const { outcome, notes, done } = result
    const isWell = outcome.broken.length + notes.length === 0
    if (options.json) {
      const { minutes, seed } = options
      console.log(JSON.stringify({ isWell, minutes, seed, done: Object.fromEntries(done.entries), notes, ...outcome }))
    } else console.log(report(result).join('\n'))
    process.exitCode = isWell ? 0 : 1
  }
} catch (error) {
  console.error(error)
  process.exitCode = 1
}

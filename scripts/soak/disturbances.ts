import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '@starflow/core'
import { fence, restore } from '@starflow/core/operations'
import pg from 'pg'
import type { FlakyProxy } from '../../tests/support/flaky-proxy.ts'
import { ROOT } from '../repository.ts'
import type { Poison } from './flows/soak-poison.ts'
import { startRuns } from './intake.ts'
import type { SoakPlatform } from './soak-platform.ts'
import type { Tally } from './tally.ts'

interface Scene {
  readonly platform: SoakPlatform
  readonly sql: Database
  /** From 0 to below 1. */
  readonly random: () => number
  readonly tally: Tally
  /** `queue/message` of each message that was sent by hand. */
  readonly handMade: Set<string>
  /** Runs whose start was answered. */
  readonly accepted: Set<string>
}

interface Disturbance {
  /** Its lots in an urn that is filled again when it is empty: so nothing is left out for long. The first has one of each. */
  readonly lots: number
  readonly disturb: (scene: Scene) => Promise<void>
}

/** About so long between two disturbances. */
const PAUSE_MS = 1_500
/** Under this name functions are fenced. */
const FENCED_BY = 'soak'
export const FLOWS = ['soakShapes', 'soakEffects', 'soakPlain', 'soakPoison'] as const
/** In turn. The last takes minutes to be told from the innocent ones beside it, so that a short soak is spared it. */
const POISONS: readonly Poison[] = ['rejection', 'timer', 'loop']
/** More than Postgres gives: only so that asking for more ends. */
const MAX_CONNECTIONS = 500
const CONNECT_TIMEOUT_MS = 10_000
const STARFLOW = join(ROOT, 'packages/cli/bin/starflow.mjs')

const below = (random: () => number, limit: number) => Math.floor(random() * limit)
const oneOf = <T>(random: () => number, values: readonly T[]): T | undefined => values[below(random, values.length)]

/** What is done to the platform. Each says in the tally what it did, and leaves nothing behind that only it can undo. */
export const DISTURBANCES: Readonly<Record<string, Disturbance>> = {
  'workers killed': {
    lots: 5,
    async disturb({ platform, random, tally }) {
      const { functions } = platform.starflow.platform
      const isolates = functions.isolates()
      if (random() * (isolates.length + 1) < 1) {
        platform.nodeWorker.kill()
        return tally.add('workers killed')
      }
      const victim = oneOf(random, isolates)
      if (victim !== undefined && (await functions.killIsolate(victim.id))) tally.add('workers killed')
    },
  },
  'connections cut': {
    lots: 4,
    async disturb({ sql, random, tally }) {
      const backends = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity
        where datname = current_database() and usename = current_user and application_name ~ '^(starflow|rollout)'`
      // One, some, or all at once.
      const share = [0.01, 0.3, 1][below(random, 3)]!
      for (const [index, { pid }] of backends.entries()) {
        if (index > 0 && random() > share) continue
        await sql`select pg_terminate_backend(${pid})`
        tally.add('connections cut')
      }
    },
  },
  'messages sent by hand': {
    lots: 2,
    async disturb({ sql, random, tally, handMade }) {
      const queues = await sql<{ name: string; flow: string; step: string }[]>`
        select distinct on (queue_name) queue_name as name, flow_slug as flow, step_slug as step from pgflow.steps`
      const [queue, other] = [oneOf(random, queues), oneOf(random, queues)]
      if (queue === undefined || other === undefined) return
      const bodies = [
        { nobody: 'knows this' },
        { flow_slug: other.flow, run_id: crypto.randomUUID(), step_slug: other.step, task_index: 0 },
        { flow_slug: queue.flow, run_id: crypto.randomUUID(), step_slug: queue.step, task_index: 0 },
      ]
      const body = bodies[below(random, bodies.length)]!
      const [sent] = await sql<
        { id: string }[]
      >`select pgmq.send(${queue.name}, ${JSON.stringify(body)}::text::jsonb)::text as id`
      handMade.add(`${queue.name}/${sent!.id}`)
      tally.add('messages sent by hand')
    },
  },
  'functions fenced and restored': {
    lots: 2,
    async disturb({ platform, sql, random, tally }) {
      const names = platform.starflow.functions.filter(() => random() < 0.4)
      if (names.length === 0) return
      await fence(sql, names, FENCED_BY)
      tally.add('functions fenced and restored', names.length)
      await sleep(1_000 + 3_000 * random())
      await restore(sql, names)
    },
  },
  rollouts: {
    lots: 2,
    async disturb({ platform, random, tally }) {
      const flow = oneOf(random, FLOWS)!
      if (random() < 0.5) {
        const first = rollOut(platform, flow)
        await sleep(1_000 + 4_000 * random())
        if (first.child.exitCode === null) tally.add('rollouts killed half-way')
        first.child.kill('SIGKILL')
        await first.ended
      }
      // One that fails is run again, as a person would; it waits for one that was killed.
      for (let attempt = 1; attempt <= 5; attempt++) {
        if ((await rollOut(platform, flow).ended) === 0) return tally.add('rollouts')
        tally.add('rollouts run again')
      }
    },
  },
  'runs cancelled': {
    lots: 2,
    async disturb({ sql, tally }) {
      const rows = await sql`
        select from pgflow.cancel_runs(array(
          select run_id from pgflow.runs where status = 'started' order by random() limit 2), 'soak')`
      tally.add('runs cancelled', rows.length)
    },
  },
  'runs retried': {
    lots: 3,
    async disturb({ sql, tally }) {
      const rows = await sql`
        select from pgflow.retry_runs(array(
          select run_id from pgflow.runs where status in ('failed', 'cancelled') order by random() limit 3))`
      tally.add('runs retried', rows.length)
    },
  },
  'workers stopped and continued': {
    lots: 2,
    async disturb({ platform, random, tally }) {
      const pids = [...platform.starflow.platform.functions.isolates().map(({ pid }) => pid), platform.nodeWorker.pid]
      const pid = oneOf(random, pids)
      if (pid === undefined) return
      // Past the timeouts of the flows, and into a transaction as often as not.
      await stopAndContinue(pid, 1_000 + 6_000 * random())
      tally.add('workers stopped and continued')
    },
  },
  'links reset': { lots: 3, disturb: (scene) => onNetwork(scene, 'links reset', (network) => network.reset()) },
  'links gone silent for good': {
    lots: 2,
    disturb: (scene) => onNetwork(scene, 'links gone silent for good', (network) => network.freeze()),
  },
  'networks silent for a while': {
    lots: 2,
    disturb: (scene) => onNetwork(scene, 'networks silent for a while', (network) => network.goSilent(), 9_000),
  },
  'networks slow for a while': {
    lots: 2,
    disturb: (scene) =>
      onNetwork(scene, 'networks slow for a while', (network) => network.delay(20 + 300 * scene.random()), 5_000),
  },
  'networks away for a while': {
    lots: 2,
    disturb: (scene) => onNetwork(scene, 'networks away for a while', (network) => network.cut(), 4_500),
  },
  'runs held by a transaction': {
    lots: 2,
    async disturb({ sql, random, tally }) {
      await sql.begin(async (tx) => {
        const rows = await tx`
          select from pgflow.runs where status = 'started' order by random() limit 3 for update skip locked`
        await sleep(500 + 4_000 * random())
        tally.add('runs held by a transaction', rows.length)
      })
    },
  },
  'connections exhausted': {
    lots: 1,
    async disturb({ platform, random, tally }) {
      const others: pg.Client[] = []
      try {
        while (others.length < MAX_CONNECTIONS) {
          const client = new pg.Client({
            connectionString: platform.starflow.platform.databaseUrl,
            connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
          })
          client.on('error', () => {})
          await client.connect()
          others.push(client)
        }
      } catch (error) {
        // That is what was wanted: no more are given.
        if ((error as { code?: string }).code !== '53300') throw error
        await sleep(1_000 + 3_000 * random())
        tally.add('connections exhausted')
      } finally {
        await Promise.all(others.map((client) => client.end().catch(() => {})))
      }
    },
  },
  'poisoned tasks': {
    lots: 1,
    async disturb({ sql, tally, accepted }) {
      const poison = POISONS[tally.count('poisoned tasks') % POISONS.length]!
      await startRuns(sql, accepted, 'soakPoison', [{ poison }, { poison: null }, { poison: null }])
      tally.add('poisoned tasks')
    },
  },
  'restarts of Postgres, immediate': {
    lots: 1,
    async disturb({ platform, tally }) {
      await platform.postgres.restartImmediately()
      tally.add('restarts of Postgres, immediate')
    },
  },
}

/** Does it, and undoes it after at most `forMs`, if that is given. */
async function onNetwork(
  { platform: { network }, random, tally }: Scene,
  name: string,
  act: (network: FlakyProxy) => void,
  forMs?: number,
): Promise<void> {
  act(network)
  if (forMs !== undefined) {
    await sleep(forMs * (0.1 + 0.9 * random()))
    heal(network)
  }
  tally.add(name)
}

function heal(network: FlakyProxy): void {
  network.restore()
  network.delay(0)
}

async function stopAndContinue(pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await sleep(ms)
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It was killed meanwhile.
  }
}

function rollOut({ projectDir, starflow }: SoakPlatform, flow: string) {
  const { DATABASE_URL: _, ...env } = process.env
  const options = ['--flow', flow, '--no-deploy', '--drain-timeout', '60', '--json']
  const child = spawn(
    process.execPath,
    [STARFLOW, 'rollout', ...options, '--database-url', starflow.platform.databaseUrl],
    { cwd: projectDir, env, stdio: 'ignore' },
  )
  const ended = once(child, 'close').then(([exitCode]) => exitCode as number | null)
  return { child, ended }
}

/** Disturbs at random moments, one thing after another, until it is told to stop. */
export async function disturb(scene: Scene, stopped: AbortSignal): Promise<void> {
  const lots = Object.values(DISTURBANCES).flatMap((each) => Array<Disturbance>(each.lots).fill(each))
  let urn = Object.values(DISTURBANCES)
  while (!stopped.aborted) {
    await sleep(PAUSE_MS * (0.4 + scene.random()), undefined, { signal: stopped }).catch(() => {})
    if (stopped.aborted) return
    if (urn.length === 0) urn = [...lots]
    const [chosen] = urn.splice(below(scene.random, urn.length), 1)
    try {
      await chosen!.disturb(scene)
    } catch (error) {
      // The database may be away, and a fence may be a rollout's: that a disturbance fails is part of it.
      scene.tally.add(`disturbances refused (${(error as { code?: string }).code ?? 'no code'})`)
    }
  }
}

/** Undoes what may still be in force. Lifts also the fence of a rollout that was killed and not run again. */
export async function restoreEverything({ platform, sql }: Pick<Scene, 'platform' | 'sql'>): Promise<void> {
  heal(platform.network)
  await restore(sql, platform.starflow.functions, { force: true })
}

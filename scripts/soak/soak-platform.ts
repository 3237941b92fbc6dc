import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generateFunctions } from '../../packages/cli/src/functions/generate.command.ts'
import { createOutput } from '../../packages/cli/src/output/output.ts'
import {
  type StarflowPlatform,
  startStarflowPlatform,
} from '../../packages/cli/src/platform/start-starflow-platform.ts'
import { type FlakyProxy, flakyProxy } from '../../tests/support/flaky-proxy.ts'
import { ROOT } from '../repository.ts'
import { NodeWorker } from './node-worker.ts'
import { RestartablePostgres } from './restartable-postgres.ts'

/** The local platform with the flows of ./flows, in a folder of its own. */
export interface SoakPlatform {
  readonly starflow: StarflowPlatform
  readonly postgres: RestartablePostgres
  /** What all workers reach the database through. */
  readonly network: FlakyProxy
  /** A worker in Node beside the functions. */
  readonly nodeWorker: NodeWorker
  /** A project's folder, in which the command line finds its way. */
  readonly projectDir: string
  /** Ends all, and removes the folder unless it is to be kept. */
  dispose(): Promise<void>
}

const SCHEMA = `
  create schema soak;
  create table soak.handled (run_id uuid, step_slug text, task_index integer, attempt integer);
  create table soak.effects (run_id uuid, step_slug text, task_index integer, attempt integer, parts integer default 1);`

/** Below the repository, where functions see its packages, and outside of .starflow, which they may not read. */
export async function startSoakPlatform(options: {
  readonly keep: boolean
  readonly note: (text: string) => void
}): Promise<SoakPlatform> {
  const parent = join(ROOT, '.test-projects')
  mkdirSync(parent, { recursive: true })
  const projectDir = mkdtempSync(join(parent, 'soak-'))
  let databaseUrl = ''
  const network = await flakyProxy(() => databaseUrl)
  const remove = async () => {
    await network.close()
    if (!options.keep) rmSync(projectDir, { recursive: true, force: true })
  }
  try {
    writeFileSync(join(projectDir, 'package.json'), '{ "name": "soak", "private": true, "type": "module" }')
    writeFileSync(
      join(projectDir, 'deno.json'),
      '{ "nodeModulesDir": "manual", "workspace": ["supabase/functions/*"] }',
    )
    const functionsDir = join(projectDir, 'supabase/functions')
    cpSync(fileURLToPath(new URL('./flows', import.meta.url)), join(functionsDir, '_flows'), { recursive: true })
    const silent = { stdout: { write: () => {} }, stderr: { write: () => {} } }
    await generateFunctions({}, createOutput({ json: true }, silent), projectDir)

    const dataDir = join(projectDir, '.starflow/dev')
    // Started once before, since the password of a new database comes with it, and functions get it with their start.
    const first = await startStarflowPlatform({ dataDir, functionsDir })
    databaseUrl = first.platform.databaseUrl
    await first.dispose()
    const starflow = await startStarflowPlatform({
      dataDir,
      functionsDir,
      functionEnv: { STARFLOW_DB_URL: network.url },
      onEvent: (event) => {
        // What a worker says while it is disturbed is no news; that its process ended by an error of its own is.
        const isPoisoned = 'name' in event && event.name.startsWith('soakpoison')
        if (event.type === 'function.log' && !isPoisoned && /uncaught|TypeError|panicked/i.test(event.line)) {
          options.note(`${event.name}: ${event.line}`)
        }
        if (event.type === 'function.boot_failed') options.note(`${event.error.code}: ${event.error.message}`)
      },
    })
    databaseUrl = starflow.platform.databaseUrl
    await starflow.sql.unsafe(SCHEMA)
    const nodeWorker = new NodeWorker(join(functionsDir, '_flows/soak-plain.ts'), network.url)
    const postgres = new RestartablePostgres(join(dataDir, 'postgres'))
    let disposal: Promise<void> | undefined
    const disposeAll = async () => {
      await nodeWorker.end()
      await starflow.dispose().catch((error: unknown) => options.note(`The platform did not end well: ${error}`))
      await postgres.stop()
      await remove()
    }
    return {
      starflow,
      postgres,
      network,
      nodeWorker,
      projectDir,
      dispose: () => {
        disposal ??= disposeAll()
        return disposal
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

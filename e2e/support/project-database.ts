import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations } from '@starflow/core/migrations'
import { createLocalPlatform, type LocalPlatform, type PlatformEvent } from '@starflow/local'
import postgres, { type Sql } from 'postgres'
import { REPOSITORY } from './programs.ts'

/** A local platform that is set up as an operator sets up a hosted project. */
export interface ProjectPlatform {
  readonly platform: LocalPlatform
  readonly sql: Sql
  /** Where deployed functions are put: empty at first. */
  readonly deployedDir: string
  /** Looks again until the condition holds. Throws at once when a function does not boot or a worker does not start. */
  until(condition: () => Promise<boolean>): Promise<void>
  dispose(): Promise<void>
}

/**
 * Starts a platform whose functions come only from what is deployed: written into an empty folder outside of the
 * repository. Only npm packages are lent to it, those that a hosted project would fetch.
 */
export async function startProject(options: { deno: string; secret: string }): Promise<ProjectPlatform> {
  const folder = mkdtempSync(join(tmpdir(), 'starflow-e2e-'))
  const deployedDir = join(folder, 'deployed')
  mkdirSync(join(deployedDir, 'functions'), { recursive: true })
  symlinkSync(join(REPOSITORY, 'node_modules'), join(deployedDir, 'node_modules'))
  // Deno 2.1 resolves an npm: specifier only to what a package.json declares.
  copyFileSync(join(REPOSITORY, 'package.json'), join(deployedDir, 'package.json'))
  const failures: string[] = []
  let platform: LocalPlatform | undefined
  let sql: Sql | undefined
  const dispose = async () => {
    await sql?.end({ timeout: 1 })
    await platform?.dispose()
    rmSync(folder, { recursive: true, force: true })
  }
  const until = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) {
      if (failures.length > 0) throw new Error(failures.join('\n'))
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
  try {
    platform = await createLocalPlatform({
      dataDir: join(folder, 'platform'),
      functionsDir: join(deployedDir, 'functions'),
      deno: options.deno,
      functionEnv: { STARFLOW_AUTH_SECRET: options.secret },
      migrations,
      onEvent: (event) => failures.push(...failureOf(event)),
    })
    sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => {} })
    await sql`create extension if not exists pg_cron`
    await sql`create extension if not exists pg_net`
    await sql`select pgflow.set_setting('functions_base_url', ${`${platform.apiUrl}/functions/v1`})`
    await sql`select vault.create_secret(${options.secret}, 'pgflow_auth_secret')`
    await sql`select pgflow.setup_ensure_workers_cron()`
    await sql`select pgflow.setup_requeue_stalled_tasks_cron()`
    return { platform, sql, deployedDir, until, dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

function failureOf(event: PlatformEvent): string[] {
  if (event.type === 'function.boot_failed') return [`${event.error.message}\n${event.error.detail ?? ''}`]
  return event.type === 'function.log' && event.line.includes('worker.start_failed') ? [event.line] : []
}

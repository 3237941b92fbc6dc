import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManagementApi } from '../support/management-api.ts'
import { DENO_BINARIES, starflow } from '../support/programs.ts'
import { type ProjectPlatform, startProject } from '../support/project-database.ts'

const FUNCTIONS = ['communitythreadsv1__classify', 'communitythreadsv1__deliverslack', 'textstatisticsv1']
const SECRET = 'a dedicated secret'

describe.each(Object.entries(DENO_BINARIES))(
  'starflow deploy with the real Supabase CLI, run by Deno %s',
  (_line, deno) => {
    let api: ManagementApi
    let project: ProjectPlatform
    let home: string
    const deploy = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await starflow(
        [
          'deploy',
          ...FUNCTIONS,
          ...['--project-ref', api.projectRef, '--profile', join(home, 'profile.yaml')],
          ...['--json', '--database-url', project.platform.databaseUrl, ...args],
        ],
        { SUPABASE_ACCESS_TOKEN: api.accessToken, SUPABASE_HOME: home },
      )
      expect(stderr).toBe('')
      return { exitCode, result: JSON.parse(stdout) as Record<string, unknown> }
    }
    const functions = async () =>
      await project.sql`
      select function_name as name, enabled, fenced_by as "fencedBy" from pgflow.worker_functions order by function_name`
    const asFound = FUNCTIONS.map((name) => ({ name, enabled: true, fencedBy: null }))

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'starflow-e2e-'))
      api = await ManagementApi.start()
      api.writeProfile(join(home, 'profile.yaml'))
      project = await startProject({ deno, secret: SECRET })
    })
    afterAll(async () => {
      await project?.dispose()
      await api?.stop()
      if (home !== undefined) rmSync(home, { recursive: true, force: true })
    })

    test('--dry-run changes nothing', async () => {
      expect(await deploy('--dry-run')).toMatchObject({
        exitCode: 0,
        result: {
          isDryRun: true,
          functionNames: FUNCTIONS,
          newFunctions: FUNCTIONS,
          needs: { functions: expect.any(Number) },
          warnings: [],
        },
      })
      expect(await functions()).toEqual([])
      expect(api.functions.size).toBe(0)
    })

    test('a deploy that the API refuses leaves nothing fenced and nothing to be pinged in vain', async () => {
      api.refuseDeployments('the project is paused')
      expect(await deploy()).toMatchObject({
        exitCode: 1,
        result: { error: { code: 'SF634', detail: expect.stringContaining('the project is paused') } },
      })
      expect(await functions()).toEqual([])
      api.refuseDeployments(undefined)
    })

    test('what it uploads runs, from an empty folder, until flows complete', async () => {
      expect(await deploy()).toMatchObject({ exitCode: 0, result: { isDryRun: false, restored: FUNCTIONS } })
      expect(await functions()).toEqual(asFound)
      expect([...api.functions.keys()].toSorted()).toEqual(FUNCTIONS)
      for (const each of api.functions.values()) {
        expect({ verifyJwt: each.verifyJwt, entrypoint: each.entrypoint }).toEqual({
          verifyJwt: false,
          entrypoint: `functions/${each.slug}/index.ts`,
        })
      }

      api.writeFunctions(project.deployedDir)
      await project.until(
        async () =>
          (await starflow(['coverage', '--strict', '--json', '--database-url', project.platform.databaseUrl]))
            .exitCode === 0 && (await compiled()) === 2,
      )
      const runs = await project.sql<{ run_id: string }[]>`
      select run_id from pgflow.start_flow('textStatisticsV1', '{"text": "Small is beautiful."}')
      union all
      select run_id from pgflow.start_flow('communityThreadsV1', '{"title": "Help, it does not start", "body": "What can I do?", "author": "ana", "url": "https://forum.test/1"}')`
      const ids = runs.map((run) => run.run_id)
      await project.until(
        async () =>
          (await project.sql`select from pgflow.runs where run_id = any (${ids}) and status = 'started'`).length === 0,
      )
      expect(await project.sql`select distinct status from pgflow.runs where run_id = any (${ids})`).toEqual([
        { status: 'completed' },
      ])
    })

    test('the doctor finds no problem in a project that was set up as the pages say', async () => {
      const { exitCode, stdout } = await starflow(['doctor', '--database-url', project.platform.databaseUrl])
      expect(exitCode, stdout).toBe(0)
      expect(stdout).toContain('with a shared secret (Vault secret pgflow_auth_secret)')
    })

    test('a rollout drains real workers and loses nothing of what is started before, while and after', async () => {
      const start = async () => {
        const [run] = await project.sql<[{ run_id: string }]>`
        select run_id from pgflow.start_flow('textStatisticsV1', '{"text": "Nothing is lost."}')`
        return run.run_id
      }
      const ids = [await start(), await start()]
      const before = await liveWorkers()
      const startDuringDeploy = `
      const sql = require('postgres')(${JSON.stringify(project.platform.databaseUrl)})
      sql\`select pgflow.start_flow('textStatisticsV1', '{"text": "Started while all are fenced."}')\`.then(() => sql.end())`
      const { exitCode, stdout } = await starflow([
        ...['rollout', '--flow', 'textStatisticsV1', '--json', '--database-url', project.platform.databaseUrl],
        ...['--', process.execPath, '-e', startDuringDeploy],
      ])
      expect({ exitCode, result: JSON.parse(stdout) }).toMatchObject({
        exitCode: 0,
        result: { functionNames: ['textstatisticsv1'], isDryRun: false },
      })
      ids.push(await start())
      expect(await functions()).toEqual(asFound)
      await project.until(
        async () => (await project.sql`select from pgflow.runs where status = 'started'`).length === 0,
      )
      expect(await project.sql`select distinct status from pgflow.runs`).toEqual([{ status: 'completed' }])
      expect((await project.sql`select from pgflow.runs where flow_slug = 'textStatisticsV1'`).length).toBe(
        ids.length + 2,
      )
      const after = await liveWorkers()
      expect(after.filter((id) => before.includes(id))).toEqual([])
      expect(after).toHaveLength(1)
    })

    const liveWorkers = async () =>
      (
        await project.sql<{ id: string }[]>`
        select worker_id as id from pgflow.workers
        where function_name = 'textstatisticsv1' and stopped_at is null and deprecated_at is null`
      ).map((row) => row.id)

    test('a second deploy that fails keeps the functions of the first in service', async () => {
      api.refuseDeployments('too large')
      expect(await deploy()).toMatchObject({ exitCode: 1, result: { error: { code: 'SF634' } } })
      expect(await functions()).toEqual(asFound)
      api.refuseDeployments(undefined)
    })

    const compiled = async () => (await project.sql`select from pgflow.flows`).length
  },
)

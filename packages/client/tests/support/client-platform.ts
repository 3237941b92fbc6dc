import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, inject } from 'vitest'
import { testDatabase } from '../../../../tests/support/test-database.ts'
import { DATABASE_PLACEHOLDER } from '../../../../tests/support/test-server.ts'
import { CompiledFlow, completed, failed } from '../../../core/tests/support/compiled-flow.ts'
import { shape } from '../../../core/tests/support/shape.ts'
import { loadApiKeys } from '../../../local/src/access/api-keys.ts'
import { signToken } from '../../../local/src/access/json-web-token.ts'
import { answersPreflight } from '../../../local/src/http/cors.ts'
import type { GatewayService } from '../../../local/src/http/gateway-service.ts'
import { readBody } from '../../../local/src/http/read-body.ts'
import { sendJson } from '../../../local/src/http/send-json.ts'
import { Gateway } from '../../../local/src/platform/gateway.ts'
import { RealtimeService } from '../../../local/src/realtime/realtime-service.ts'
import { RestService } from '../../../local/src/rest/rest-service.ts'
import type { BackstageCommands, ClientFacts } from '../checks/client-check.ts'

/**
 * `/rest/v1` and `/realtime/v1` over a test database with Starflow, open to signed-in people; and below `/backstage` the hands of
 * a worker, for checks that run where no database can be reached: in a browser.
 */
export async function clientPlatform(): Promise<{ facts: ClientFacts; backstage: BackstageCommands }> {
  const database = await testDatabase()
  const { sql } = database
  await sql`select pgflow.grant_client_access('authenticated')`
  const folder = mkdtempSync(join(tmpdir(), 'starflow-test-keys-'))
  const keys = loadApiKeys(join(folder, 'secret'), Date.now())
  const urlOf = (role: 'authenticator' | 'supabase_admin') =>
    inject('testServer').urls[role].replace(DATABASE_PLACEHOLDER, database.name)

  const flows = new Map<string, CompiledFlow>()
  const flowOf = (slug: string) => {
    const flow = flows.get(slug)
    if (flow === undefined) throw new Error(`no flow ${slug}`)
    return flow
  }
  const backstage: BackstageCommands = {
    compile: async (slug, steps) => {
      flows.set(slug, await CompiledFlow.compileShape(sql, slug, shape(steps, { baseDelay: 0, maxAttempts: 1 })))
    },
    work: async (slug, stepSlug, result) => {
      const flow = flowOf(slug)
      const tasks = await flow.claim(stepSlug)
      await flow.core.settleTasks(
        flow.workerId,
        tasks.map((task) =>
          'error' in result ? failed(task, { errorMessage: result.error }) : completed(task, result.output),
        ),
      )
      return tasks.length
    },
    sql: async (text) => await sql.unsafe(text),
    token: async (sub, lifeSeconds) =>
      signToken({ role: 'authenticated', sub, exp: Math.floor(Date.now() / 1000) + lifeSeconds }, keys.jwtSecret),
  }
  const rest = new RestService({
    databaseUrl: urlOf('authenticator'),
    keys,
    settings: { schemas: ['public', 'pgflow'], extraSearchPath: ['public'], maxRows: 1000 },
  })
  const realtime = new RealtimeService({ databaseUrl: urlOf('supabase_admin'), keys })
  const gateway = new Gateway({
    functions: () => undefined,
    health: () => ({}),
    services: [rest, realtime, new Backstage(backstage)],
  })
  const port = await gateway.start()
  afterAll(async () => {
    await gateway.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    facts: {
      url: `http://127.0.0.1:${port}`,
      publishableKey: keys.publishableKey,
      serviceRoleKey: keys.serviceRoleKey,
    },
    backstage,
  }
}

/** `POST /backstage/<command>` with a JSON array of its arguments. */
class Backstage implements GatewayService {
  readonly prefix = '/backstage'
  readonly #commands: BackstageCommands

  constructor(commands: BackstageCommands) {
    this.#commands = commands
  }

  async handle(incoming: IncomingMessage, outgoing: ServerResponse, rest: string): Promise<void> {
    if (answersPreflight(incoming, outgoing)) return
    const body = await readBody(incoming, 2 ** 24)
    const name = rest.replace(/^\//, '') as keyof BackstageCommands
    try {
      const command = this.#commands[name] as (...parameters: unknown[]) => Promise<unknown>
      sendJson(outgoing, 200, { result: (await command(...JSON.parse(String(body)))) ?? null })
    } catch (error) {
      sendJson(outgoing, 500, { message: String(error) })
    }
  }
}

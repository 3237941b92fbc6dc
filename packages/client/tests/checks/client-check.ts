import type { Json } from '@starflow/dsl'
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import type { StepSketch } from '../../../core/tests/support/shape.ts'
import { createStarflowClient, type StarflowClient, type StarflowClientOptions } from '../../src/index.ts'

/** Where a project is, as plain data that crosses processes. */
export interface ClientFacts {
  readonly url: string
  readonly publishableKey: string
  readonly serviceRoleKey: string
}

/** What happens behind the client's back. */
export interface BackstageCommands {
  compile(flowSlug: string, steps: Readonly<Record<string, StepSketch>>): Promise<void>
  /** Claims all tasks of a step and settles them; gives how many. */
  work(flowSlug: string, stepSlug: string, result: { output: Json } | { error: string }): Promise<number>
  /** As `postgres`. */
  sql(text: string): Promise<readonly Record<string, unknown>[]>
  /** Of a signed-in person. */
  token(sub: string, lifeSeconds: number): Promise<string>
}

/** One claim about the client, in any runtime. It throws where the claim does not hold. */
export interface ClientCheck {
  readonly title: string
  readonly run: (scene: Scene) => Promise<void>
}

/** What one check has at hand; all of it ends with the check. */
export class Scene {
  readonly backstage: BackstageCommands
  readonly facts: ClientFacts
  readonly #transport: unknown
  readonly #clients: SupabaseClient[] = []

  constructor(facts: ClientFacts, transport?: unknown) {
    this.facts = facts
    this.#transport = transport
    this.backstage = backstageAt(facts.url)
  }

  /** A compiled flow; gives its slug. */
  async flow(steps: Readonly<Record<string, StepSketch>>): Promise<string> {
    const slug = `check${crypto.randomUUID().replaceAll('-', '')}`
    await this.backstage.compile(slug, steps)
    return slug
  }

  /** A client of supabase-js: of the service role, or with what gives the token of a person. */
  supabase(token?: () => Promise<string>, url = this.facts.url): SupabaseClient {
    const client = createClient(url, token === undefined ? this.facts.serviceRoleKey : this.facts.publishableKey, {
      auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
      ...(token === undefined ? {} : { accessToken: token }),
      realtime: this.#transport === undefined ? {} : { transport: this.#transport as never },
    })
    this.#clients.push(client)
    return client
  }

  /** A client of Starflow, of the service role. */
  server(options: StarflowClientOptions<object> = {}): StarflowClient {
    return createStarflowClient(this.supabase(), options)
  }

  /** A client of Starflow, of a person who signed in. */
  async person(sub: string = crypto.randomUUID()): Promise<StarflowClient> {
    const token = await this.backstage.token(sub, 3600)
    return createStarflowClient(this.supabase(async () => token))
  }

  /** A client of Starflow, of nobody. */
  anonymous(): StarflowClient {
    const client = createClient(this.facts.url, this.facts.publishableKey, {
      auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
      realtime: this.#transport === undefined ? {} : { transport: this.#transport as never },
    })
    this.#clients.push(client)
    return createStarflowClient(client)
  }

  async end(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.removeAllChannels()))
  }
}

/** Runs a check; gives what went wrong, or undefined. */
export async function problemOf(
  check: ClientCheck,
  facts: ClientFacts,
  transport?: unknown,
): Promise<string | undefined> {
  const scene = new Scene(facts, transport)
  try {
    await check.run(scene)
    return undefined
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  } finally {
    await scene.end()
  }
}

function backstageAt(url: string): BackstageCommands {
  const call =
    (name: string) =>
    async (...parameters: unknown[]) => {
      const answer = await fetch(`${url}/backstage/${name}`, { method: 'POST', body: JSON.stringify(parameters) })
      const { result, message } = (await answer.json()) as { result?: unknown; message?: string }
      if (!answer.ok) throw new Error(`backstage ${name}: ${message}`)
      return result as never
    }
  return { compile: call('compile'), work: call('work'), sql: call('sql'), token: call('token') }
}

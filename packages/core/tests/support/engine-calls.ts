import { randomUUID } from 'node:crypto'
import type { Json } from '@starflow/dsl'
import type { Sql } from 'postgres'

/** A runner's right to a run, as the functions of the schema starflow take it. */
export interface Claim {
  readonly run_id: string
  readonly runner_id: string
  readonly claim_attempts: number
}

export interface RunRow {
  readonly id: string
  readonly status: string
  readonly claim_state: string
  readonly leased_by: string | null
  readonly lease_until: Date | null
  readonly claim_attempts: number
  readonly [column: string]: unknown
}

export interface EventRow {
  readonly id: string
  readonly event_type: string
  readonly node_id: string | null
  readonly payload_json: Json
}

/** Calls the functions of the schema starflow by name, as the REST layer does, on a connection of any role. */
export class EngineCalls {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
  }

  /** Every row of a function called with named arguments; a scalar is the column named like the function. */
  async call<TRow = Record<string, unknown>>(name: string, args: Record<string, unknown> = {}): Promise<TRow[]> {
    const given = Object.entries(args).filter(([, value]) => value !== undefined)
    const list = given.map(([key], index) => `${key} => $${index + 1}`).join(', ')
    return await this.sql.unsafe<TRow[] & object[]>(
      `select * from starflow.${name}(${list})`,
      given.map(([, value]) => value as never),
    )
  }

  async scalar<TValue>(name: string, args: Record<string, unknown> = {}): Promise<TValue> {
    const [row] = await this.call<Record<string, TValue>>(name, args)
    return row![name] as TValue
  }

  /** The definition of a flow that exists in name only. */
  async definition(flowSlug = 'orders', shapeHash = 'a'.repeat(64)): Promise<string> {
    const [row] = await this.call<{ id: string }>('save_definition', {
      flow_slug: flowSlug,
      shape_hash: shapeHash,
      shape: { steps: [] },
    })
    return row!.id
  }

  async enqueue(definitionId: string, spec: Record<string, unknown> = {}): Promise<string> {
    const [row] = await this.call<{ id: string }>('enqueue_run', {
      ...{ run_id: randomUUID(), template_id: 'orders', workspace_id: 'shop', env: 'prod', input: {} },
      definition_id: definitionId,
      ...spec,
    })
    return row!.id
  }

  async claim(
    runnerId: string,
    definitionId: string,
    options: Record<string, unknown> = {},
  ): Promise<Claim | undefined> {
    const [run] = await this.call<RunRow>('claim_next_queued_run', {
      ...{ runner_id: runnerId, lease_ttl_ms: 30_000, definition_ids: [definitionId] },
      ...options,
    })
    return run && { run_id: run.id, runner_id: runnerId, claim_attempts: run.claim_attempts }
  }

  /** A run that was never queued, started and leased. */
  async leased(runnerId: string, spec: Record<string, unknown> = {}): Promise<Claim> {
    const run_id = randomUUID()
    await this.start(run_id, spec)
    const claim_attempts = await this.scalar<number>('write_lease', { run_id, runner_id: runnerId, ttl_ms: 30_000 })
    return { run_id, runner_id: runnerId, claim_attempts }
  }

  async start(runId: string, spec: Record<string, unknown> = {}): Promise<void> {
    await this.call('on_run_start', {
      ...{ run_id: runId, template_id: 'orders', workspace_id: 'shop', env: 'prod', input: {} },
      ...spec,
    })
  }

  async run(runId: string): Promise<RunRow> {
    const [row] = await this.call<RunRow>('read_run', { run_id: runId })
    return row!
  }

  async events(runId: string): Promise<EventRow[]> {
    return await this.scalar('read_events', { run_id: runId })
  }

  /** The events as `type` or `type node`. */
  async history(runId: string): Promise<string[]> {
    return (await this.events(runId)).map((event) =>
      event.node_id === null ? event.event_type : `${event.event_type} ${event.node_id}`,
    )
  }

  async sweep(options: Record<string, unknown> = {}): Promise<{ run_id: string; outcome: string }[]> {
    return await this.call('expire_old_leases', { ttl_ms: 30_000, max_losses: 3, ...options })
  }
}

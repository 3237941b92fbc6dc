import type { FlowShape, Json, QueueMode, Route } from '@starflow/dsl'
import type { ClaimedTask } from './claimed-task.ts'
import type { Sql } from './database/sql.ts'
import {
  type ClaimedMessage,
  type MessageIdentity,
  type MessageReport,
  messageReportsJson,
  type RefusedMessage,
} from './queue-message.ts'
import {
  type RefusedReport,
  reportsJson,
  type SettledReport,
  type TaskIdentity,
  type TaskReport,
} from './task-report.ts'
import { WORKER_FUNCTIONS } from './worker-interface.ts'
import type { WorkerState } from './worker-state.ts'

/** What a compile found or did. `mismatch` and `draining` changed nothing that a run could notice. */
export interface CompileResult {
  readonly status: 'compiled' | 'verified' | 'recompiled' | 'mismatch' | 'draining'
  readonly mismatchKind: null | 'shape' | 'routing'
  /** One sentence for each difference between code and database. */
  readonly differences: readonly string[]
  /** One sentence for each option that was brought to what the code says. */
  readonly options: readonly string[]
  /** The persisted routes, in step order. */
  readonly routes: readonly Route[]
}

/** A message that this subscription must not touch. */
export interface UnsupportedMessage {
  readonly messageId: string
  readonly flowSlug: string | null
  readonly stepSlug: string | null
  readonly readCount: number
}

export interface Work {
  readonly worker: WorkerState
  readonly claimed: readonly ClaimedTask[]
  readonly refused: readonly RefusedReport[]
  readonly unsupported: readonly UnsupportedMessage[]
  /** The strict policy stopped this worker function: nothing was claimed. */
  readonly halted: boolean
  /** Tasks past their recovery boundary that have no attempt left: `requeueStalledTasks` ends them. */
  readonly stalled: number
  /** Tasks that were met and left, since a worker vanished while it ran them: they want to be claimed alone. */
  readonly suspects: number
}

interface WorkItem {
  kind: 'claimed' | 'refused' | 'unsupported' | 'halted' | 'stalled' | 'suspect' | 'worker'
  flow_slug: string
  run_id: string
  step_slug: string
  task_index: number
  msg_id: string
  attempt: number
  input: Json
  flow_input: Json | null
  timeout_seconds: number
  reason: string
}

/** What a queue worker's call answers. */
export interface QueueWork {
  readonly worker: WorkerState
  readonly claimed: readonly ClaimedMessage[]
  readonly refused: readonly RefusedMessage[]
}

interface MessageItem {
  kind: 'claimed' | 'refused' | 'worker'
  msg_id: string
  read_ct: number
  forgiven_count: number
  enqueued_at: Date
  message: Json
  headers: Json
  reason: string
}

/**
 * The typed client of the SQL core. Every method is one call of one SQL function, and on a `Database` one round trip. Errors are the driver's; `fromSqlError` of
 * @starflow/errors translates them.
 */
export class StarflowSql {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * Compiles or verifies a flow. `stepSlug`: the step whose options this caller applies; without it, all of them.
   * `codeAgeMs`: how long ago the caller's code was loaded, which keeps older code from compiling its shape back.
   */
  async ensureFlowCompiled(flow: {
    flowSlug: string
    shape: FlowShape
    queueMode: QueueMode
    routeMap: readonly Pick<Route, 'stepSlug' | 'queueName'>[] | null
    stepSlug?: string | null
    codeAgeMs?: number
  }): Promise<CompileResult> {
    const routeMap = flow.routeMap?.map(({ stepSlug, queueName }) => ({ stepSlug, queueName }))
    const codeAge = flow.codeAgeMs === undefined ? null : `${Math.max(0, Math.round(flow.codeAgeMs))} milliseconds`
    const [row] = await this.#sql<[{ result: CompileResult }]>`
      select pgflow.ensure_flow_compiled(
        flow_slug => ${flow.flowSlug}, shape => ${JSON.stringify(flow.shape)}::text::jsonb, queue_mode => ${flow.queueMode},
        route_map => ${routeMap === undefined ? null : JSON.stringify(routeMap)}::text::jsonb,
        step_slug => ${flow.stepSlug ?? null}, code_age => ${codeAge}::text::interval) as result`
    return row.result
  }

  async trackWorkerFunction(functionName: string, startMode: 'http' | 'process' = 'http'): Promise<void> {
    await this.#sql`select pgflow.track_worker_function(${functionName}, ${startMode})`
  }

  /**
   * What a worker finds before it starts. `missingFunctions` names those of the functions it calls that are not there, or
   * that cannot be called as it does: parameters with a default may have been added behind its own.
   */
  async lookAround(): Promise<{
    missingFunctions: readonly string[]
    maxConnections: number
    /** Of each enabled function, how many workers it has. */
    workers: readonly number[]
    /** Ids of types and of their arrays, for a client that reads arrays of all of them. */
    arrayTypes: readonly (readonly [type: number, array: number])[]
  }> {
    const expected = WORKER_FUNCTIONS.map(({ name, args }) => ({
      name,
      args: args.map(([arg]) => arg),
      types: args.map(([, type]) => type),
    }))
    const [row] = await this.#sql<
      [{ missing: string[]; max_connections: number; workers: number[]; array_types: [number, number][] }]
    >`
      select
        (select coalesce(jsonb_agg(e.name), '[]') from jsonb_to_recordset(${JSON.stringify(expected)}::text::jsonb) e(name text, args text[], types text[])
         where not exists (
           select from pg_catalog.pg_proc p
           where p.pronamespace = to_regnamespace('pgflow') and p.proname = e.name and p.pronargs - p.pronargdefaults <= cardinality(e.args)
             and not exists (
               select from unnest(e.args, e.types) with ordinality a(arg, type, place)
               where p.proargnames[a.place] is distinct from a.arg or p.proargtypes[a.place - 1] is distinct from to_regtype(a.type)))) as missing,
        current_setting('max_connections')::integer as max_connections,
        (select coalesce(jsonb_agg(f.workers), '[]') from (
           select count(*) as workers from pgflow.worker_function_queues q
           join pgflow.worker_functions f on f.function_name = q.function_name where f.enabled and q.enabled group by f.function_name) f) as workers,
        (select jsonb_agg(jsonb_build_array(e.oid::bigint, e.typarray::bigint)) from pg_catalog.pg_type e
         join pg_catalog.pg_type a on a.oid = e.typarray where a.typcategory = 'A') as array_types`
    return {
      missingFunctions: row.missing,
      maxConnections: row.max_connections,
      workers: row.workers,
      arrayTypes: row.array_types,
    }
  }

  async registerWorker(worker: {
    workerId: string
    queueName: string
    functionName: string
    startMode?: 'http' | 'process'
    /** What the host calls the isolate or process that the worker lives in. */
    executionId?: string
  }): Promise<WorkerState> {
    const [row] = await this.#sql<[{ state: WorkerState }]>`
      select pgflow.register_worker(${worker.workerId}, ${worker.queueName}, ${worker.functionName},
        ${worker.startMode ?? 'http'}, ${worker.executionId ?? null}::uuid) as state`
    return row.state
  }

  async heartbeat(workerId: string): Promise<WorkerState> {
    const [row] = await this.#sql<[{ state: WorkerState }]>`select pgflow.worker_heartbeat(${workerId}) as state`
    return row.state
  }

  /** This worker claims no more; a new one may be started beside it. */
  async deprecateWorker(workerId: string): Promise<void> {
    await this.#sql`select pgflow.deprecate_worker(${workerId})`
  }

  async markWorkerStopped(workerId: string): Promise<void> {
    await this.#sql`select pgflow.mark_worker_stopped(${workerId})`
  }

  /** How many tasks a worker has ended since it registered, and the CPU of its process since the start, where that is known. */
  async reportUsage(workerId: string, usage: { tasks: number; cpuMs: number | null }): Promise<void> {
    const cpuMs = usage.cpuMs === null ? null : Math.round(usage.cpuMs)
    await this.#sql`select pgflow.report_usage(${workerId}, ${usage.tasks}, ${cpuMs})`
  }

  /** CPU of isolates since their boot, measured from outside, by execution id; answers for how many workers it has grown. */
  async reportCpu(cpuMs: Readonly<Record<string, number>>): Promise<number> {
    const [row] = await this.#sql<[{ grown: number }]>`
      select pgflow.report_cpu(${JSON.stringify(cpuMs)}::text::jsonb) as grown`
    return row.grown
  }

  /** Keeps the reason on the function's row, if it has one; its pings then back off. */
  async reportStartFailure(functionName: string, message: string): Promise<void> {
    await this.#sql`select pgflow.report_start_failure(${functionName}, ${message})`
  }

  /** The hot call: settles what has ended and claims at most `qty` tasks, in one round trip. */
  async settleAndClaim(call: {
    workerId: string
    reports: readonly TaskReport[]
    queueName: string
    flowSlug: string
    stepSlug: string | null
    qty: number
    onUnsupported: 'skip' | 'halt'
    /** `false` leaves suspects and tells of them; `true`, for a worker that holds nothing, claims one and nothing else. Default: takes all. */
    alone?: boolean
  }): Promise<Work> {
    const items = await this.#sql<WorkItem[]>`
      select * from pgflow.settle_and_claim(
        worker_id => ${call.workerId}, reports => ${reportsJson(call.reports)}::text::jsonb, queue_name => ${call.queueName},
        flow_slug => ${call.flowSlug}, qty => ${call.qty}, step_slug => ${call.stepSlug}, on_unsupported => ${call.onUnsupported},
        alone => ${call.alone === undefined ? null : String(call.alone)}::text::boolean)`
    return toWork(items)
  }

  /** Answers each report, in order: accepted, or the reason why not. */
  async settleTasks(workerId: string, reports: readonly TaskReport[]): Promise<SettledReport[]> {
    const rows = await this.#sql<
      {
        run_id: string
        step_slug: string
        task_index: number
        accepted: boolean
        reason: string | null
      }[]
    >`select * from pgflow.settle_tasks(${workerId}, ${reportsJson(reports)}::text::jsonb)`
    return rows.map((row) => ({
      runId: row.run_id,
      stepSlug: row.step_slug,
      taskIndex: row.task_index,
      accepted: row.accepted,
      reason: row.reason,
    }))
  }

  /** Those of these runs that another transaction holds right now. Waits for none, and holds none when it has answered. */
  async heldRuns(runIds: readonly string[]): Promise<string[]> {
    const json = JSON.stringify(runIds)
    const rows = await this.#sql<{ run_id: string }[]>`
      with asked as (
        select value::uuid as run_id from jsonb_array_elements_text(${json}::text::jsonb)
      ), free as (
        select run_id from pgflow.runs where run_id in (select run_id from asked) order by run_id for no key update skip locked
      )
      select run_id from pgflow.runs where run_id in (select run_id from asked) and run_id not in (select run_id from free)`
    return rows.map((row) => row.run_id)
  }

  /** Gives tasks back; `started` ones keep their attempt. Answers how many this worker still held. */
  async releaseTasks(workerId: string, tasks: readonly (TaskIdentity & { started: boolean })[]): Promise<number> {
    const json = JSON.stringify(
      tasks.map((task) => ({
        run_id: task.runId,
        step_slug: task.stepSlug,
        task_index: task.taskIndex,
        attempt: task.attempt,
        started: task.started,
      })),
    )
    const [row] = await this.#sql<[{ released: number }]>`
      select pgflow.release_tasks(${workerId}, ${json}::text::jsonb) as released`
    return row.released
  }

  /** Of the attempts that a worker has under way those that count no more, each with the reason. */
  async lostAttempts(
    workerId: string,
    tasks: readonly TaskIdentity[],
  ): Promise<readonly (TaskIdentity & { readonly reason: string })[]> {
    const json = JSON.stringify(
      tasks.map(({ runId, stepSlug, taskIndex, attempt }) => ({
        run_id: runId,
        step_slug: stepSlug,
        task_index: taskIndex,
        attempt,
      })),
    )
    const rows = await this.#sql<
      { run_id: string; step_slug: string; task_index: number; attempt: number; reason: string }[]
    >`select * from pgflow.lost_attempts(${workerId}, ${json}::text::jsonb)`
    return rows.map((row) => ({
      runId: row.run_id,
      stepSlug: row.step_slug,
      taskIndex: row.task_index,
      attempt: row.attempt,
      reason: row.reason,
    }))
  }

  /** Recovers every stalled task of the database; answers how many were put back. Cron does this every 15 s too. */
  async requeueStalledTasks(): Promise<number> {
    const [row] = await this.#sql<[{ requeued: number }]>`select pgflow.requeue_stalled_tasks() as requeued`
    return row.requeued
  }

  /** The input that a run was started with. */
  async flowInput(runId: string): Promise<Json> {
    const [row] = await this.#sql<{ input: Json }[]>`select input from pgflow.runs where run_id = ${runId}`
    return row?.input ?? null
  }

  /** The span that started a run (W3C Trace Context); null where nobody said one. */
  async traceparent(runId: string): Promise<string | null> {
    const [row] = await this.#sql<{ traceparent: string | null }[]>`
      select traceparent from pgflow.runs where run_id = ${runId}`
    return row?.traceparent ?? null
  }

  /** How many tasks a step of a run has: the elements of a map. */
  async stepSize(runId: string, stepSlug: string): Promise<number> {
    const [row] = await this.#sql<{ initial_tasks: number | null }[]>`
      select initial_tasks from pgflow.step_states where run_id = ${runId} and step_slug = ${stepSlug}`
    return row?.initial_tasks ?? 0
  }

  /**
   * The name under which a queue worker polls.
   *
   * @throws SF410 where there is no such queue, SF411 for the queue of a flow
   */
  async findWorkerQueue(queueName: string): Promise<string> {
    const [row] = await this.#sql<[{ name: string }]>`select pgflow.find_worker_queue(${queueName}) as name`
    return row.name
  }

  /** A queue worker's hot call: settles messages that have ended and reads at most `qty`, in one round trip. */
  async settleAndReadMessages(call: {
    workerId: string
    queueName: string
    reports: readonly MessageReport[]
    qty: number
    /** Seconds for which the messages read are hidden. */
    visibilityTimeout: number
  }): Promise<QueueWork> {
    const items = await this.#sql<MessageItem[]>`
      select * from pgflow.settle_and_read(
        worker_id => ${call.workerId}, queue_name => ${call.queueName}, reports => ${messageReportsJson(call.reports)}::text::jsonb,
        qty => ${call.qty}, visibility_timeout => ${call.visibilityTimeout})`
    return toQueueWork(items)
  }

  /** Hides messages that this worker holds for another while; answers the ids that it still holds. */
  async extendMessages(
    queueName: string,
    messages: readonly MessageIdentity[],
    visibilityTimeout: number,
  ): Promise<string[]> {
    const json = JSON.stringify(
      messages.map(({ messageId, attempt }) => ({ message_id: messageId, read_count: attempt })),
    )
    const rows = await this.#sql<{ id: string }[]>`
      select e as id from pgflow.extend_messages(${queueName}, ${json}::text::jsonb, ${visibilityTimeout}) e`
    return rows.map(({ id }) => id)
  }

  /** Sends dead letters of a queue again as new messages, all or those of the given messages; answers how many. */
  async redriveDeadLetters(queueName: string, messageIds: readonly string[] | null = null): Promise<number> {
    const [row] = await this.#sql<[{ sent: number }]>`
      select pgflow.redrive_dead_letters(${queueName}, ${messageIds === null ? null : [...messageIds]}::bigint[]) as sent`
    return row.sent
  }

  /** Starts one run per input and answers their ids in order. The same run ids again answer the same runs. */
  async startFlows(
    flowSlug: string,
    inputs: readonly Json[],
    runIds: readonly string[] | null = null,
  ): Promise<string[]> {
    const rows = await this.#sql<{ run_id: string }[]>`
      select run_id from pgflow.start_flows(${flowSlug}, ${JSON.stringify(inputs)}::text::jsonb,
        ${runIds === null ? null : [...runIds]}::uuid[])`
    return rows.map((row) => row.run_id)
  }

  async setSetting(key: string, value: string | null): Promise<void> {
    await this.#sql`select pgflow.set_setting(${key}, ${value})`
  }
}

function toWork(items: readonly WorkItem[]): Work {
  const claimed: ClaimedTask[] = []
  const refused: RefusedReport[] = []
  const unsupported: UnsupportedMessage[] = []
  let worker: WorkerState = 'running'
  let halted = false
  let stalled = 0
  let suspects = 0
  for (const item of items) {
    switch (item.kind) {
      case 'claimed':
        claimed.push({
          flowSlug: item.flow_slug,
          runId: item.run_id,
          stepSlug: item.step_slug,
          taskIndex: item.task_index,
          messageId: item.msg_id,
          attempt: item.attempt,
          input: item.input,
          flowInput: item.flow_input,
          timeoutSeconds: item.timeout_seconds,
        })
        break
      case 'refused':
        refused.push({ runId: item.run_id, stepSlug: item.step_slug, taskIndex: item.task_index, reason: item.reason })
        break
      case 'halted':
        halted = true
        unsupported.push(toUnsupported(item))
        break
      case 'unsupported':
        unsupported.push(toUnsupported(item))
        break
      case 'stalled':
        stalled += 1
        break
      case 'suspect':
        suspects += 1
        break
      case 'worker':
        worker = item.reason as WorkerState
        break
    }
  }
  return { worker, claimed, refused, unsupported, halted, stalled, suspects }
}

function toUnsupported(item: WorkItem): UnsupportedMessage {
  return {
    messageId: item.msg_id,
    flowSlug: item.flow_slug,
    stepSlug: item.step_slug,
    readCount: item.attempt ?? 0,
  }
}

function toQueueWork(items: readonly MessageItem[]): QueueWork {
  const state = items.find(({ kind }) => kind === 'worker')
  return {
    worker: state === undefined ? 'running' : (state.reason as WorkerState),
    claimed: items
      .filter(({ kind }) => kind === 'claimed')
      .map((item) => ({
        messageId: item.msg_id,
        attempt: item.read_ct,
        forgivenCount: item.forgiven_count,
        enqueuedAt: item.enqueued_at.toISOString(),
        message: item.message,
        headers: item.headers,
      })),
    refused: items
      .filter(({ kind }) => kind === 'refused')
      .map((item) => ({ messageId: item.msg_id, reason: item.reason })),
  }
}

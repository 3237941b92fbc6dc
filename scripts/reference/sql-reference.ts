import type { SchemaFile } from '../schema-files.ts'

/** Where a function or view stands on the page. What is public and has no topic is an error: nothing is left out. */
const TOPICS: Readonly<Record<string, readonly string[]>> = {
  'Starting runs': [
    ...['start_flow', 'start_flows', 'start_flow_with_states', 'schedule_flow', 'unschedule_flow', 'new_run_id'],
  ],
  'Watching and steering runs': [
    'get_run_with_states',
    'cancel_run',
    'cancel_runs',
    'retry_run',
    'retry_runs',
    'pause_flow',
    'resume_flow',
  ],
  'Durable waits': ['issue_wait_token', 'resume_wait', 'open_waits'],
  'Defining flows': [
    ...[
      'ensure_flow_compiled',
      'create_flow',
      'add_step',
      'flow_data_summary',
      'delete_flow_and_data',
      'is_valid_slug',
    ],
  ],
  'Claiming and settling': [
    ...[
      'claim_tasks',
      'settle_tasks',
      'settle_and_claim',
      'release_tasks',
      'lost_attempts',
      'start_tasks',
      'complete_task',
      'fail_task',
    ],
    'calculate_retry_delay',
  ],
  'Recovery and liveness': [
    ...[
      'requeue_stalled_tasks',
      'setup_requeue_stalled_tasks_cron',
      'liveness_audit',
      'repair_liveness',
      'restore_queues',
    ],
  ],
  'Workers and pings': [
    ...['register_worker', 'worker_heartbeat', 'deprecate_worker', 'mark_worker_stopped', 'report_start_failure'],
    ...['report_usage', 'report_cpu'],
    ...['track_worker_function', 'ensure_workers', 'ensure_workers_status', 'setup_ensure_workers_cron'],
    ...['cleanup_ensure_workers_logs', 'prune_workers'],
  ],
  'Fence and rollout': [
    ...[
      'fence_worker_functions',
      'restore_worker_functions',
      'enable_worker_functions',
      'hold_fence',
      'keep_fence_hold',
      'end_fence_hold',
      'deprecate_workers',
      'drained',
    ],
    ...['flow_worker_functions', 'version_drain'],
  ],
  'Coverage of queues': ['queue_coverage', 'unsupported_messages'],
  'Queues without a flow': ['find_worker_queue', 'settle_and_read', 'extend_messages', 'redrive_dead_letters'],
  Retention: ['prune_data_older_than', 'setup_prune_data_cron', 'starflow.prune_runs'],
  'Settings and access': [
    ...['set_setting', 'get_setting', 'is_local', 'grant_client_access', 'revoke_client_access', 'clock'],
  ],
  'Kept for older callers': [
    ...['set_vt_batch', 'poll_for_tasks', 'start_ready_steps', 'maybe_complete_run', 'cascade_complete_taskless_steps'],
  ],
  'Runs on runners: queue and leases': starflow(
    ...[
      'enqueue_run',
      'claim_next_queued_run',
      'release_run',
      'write_lease',
      'refresh_lease',
      'clear_lease',
      'heartbeat',
    ],
    ...['remove_runner', 'expire_old_leases', 'list_unserved_runs', 'list_runners', 'list_leases'],
  ),
  'Runs on runners: journal': starflow(
    ...['save_definition', 'on_run_start', 'on_node_start', 'on_node_complete', 'on_node_retry', 'on_node_error'],
    ...[
      'on_node_skip',
      'record_phase_if_changed',
      'on_variable_set',
      'on_run_paused',
      'save_checkpoint',
      'on_run_resumed',
    ],
    ...['on_run_complete', 'on_run_error'],
  ),
  'Runs on runners: waits and session variables': starflow(
    ...['open_wait', 'resume_wait', 'read_waits', 'list_open_waits', 'session_get', 'session_set', 'collect_sessions'],
  ),
  'Runs on runners: reading and steering': starflow(
    ...['read_run', 'read_events', 'read_definition', 'list_runs', 'cancel_run', 'retry_run'],
  ),
  'Worker jobs': starflow(
    ...['enqueue_worker_job', 'read_worker_job', 'cancel_worker_job', 'claim_worker_job', 'heartbeat_worker_job'],
    ...['complete_worker_job', 'fail_worker_job'],
  ),
  'The mirror: outbox': starflow(
    ...[
      'set_mirroring',
      'take_outbox',
      'mark_outbox_applied',
      'refuse_outbox',
      'list_refused_outbox',
      'prune_outbox',
      'outbox_lag',
      'recent_runs',
      'mirror_snapshots',
    ],
  ),
  'The mirror: warm tier': starflow(
    ...['warm_apply', 'warm_progress', 'warm_advance', 'warm_as_of', 'warm_read', 'warm_peers', 'warm_open'],
    ...['warm_put', 'warm_prune'],
  ),
  'The server': starflow(
    ...['database_id', 'create_api_token', 'find_api_token', 'list_api_tokens', 'revoke_api_token'],
    ...['end_session', 'has_session_ended'],
    ...['start_queue_run', 'list_queue_runs', 'queue_run_steps', 'queue_run_tasks', 'queue_run_events', 'metrics'],
    ...['look_for_problems', 'take_alert_messages', 'settle_alert_message', 'prune_alerts'],
    ...[
      'list_queues',
      'sample_queues',
      'setup_queue_samples_cron',
      'queue_history',
      'run_statistics',
      'audit_liveness',
    ],
    ...['list_functions', 'flow_schedules', 'live_marks'],
    ...['open_schedules', 'advance_schedule', 'record_instant', 'record_delivery', 'settle_firing', 'last_firing'],
    ...['unstarted_firings', 'prune_firings'],
  ),
}

function starflow(...names: readonly string[]): readonly string[] {
  return names.map((name) => `starflow.${name}`)
}

interface SqlObject {
  /** With its schema where that is not pgflow. */
  readonly name: string
  readonly kind: 'function' | 'view'
  readonly signature: string
  readonly comment: string
  readonly isPrivate: boolean
  readonly body: string
}

/**
 * The page of the SQL interface, from the schema files: signatures and comments as they stand there, and the codes that a
 * function or anything below it raises.
 *
 * @throws Error for a public function without a topic or a comment
 */
export function sqlReference(files: readonly SchemaFile[]): string {
  const objects = files.flatMap((file) => objectsOf(file.sql))
  const byName = new Map(objects.map((object) => [object.name, object]))
  const clients = new Set(byName.get('_client_functions')?.body.match(/(?<=pgflow\.)[a-z]\w+(?=\()/g))
  const placed = Object.values(TOPICS).flat()
  for (const object of objects.filter(({ isPrivate }) => !isPrivate)) {
    if (!placed.includes(object.name)) throw new Error(`${fullName(object)} has no topic in sql-reference.ts.`)
    if (object.comment === '') throw new Error(`${fullName(object)} has no comment.`)
  }
  const sections = Object.entries(TOPICS).map(([topic, names]) => {
    const entries = names.flatMap((name) => byName.get(name) ?? [])
    return entries.length === 0 ? '' : `## ${topic}\n\n${entries.map(entryOf).join('\n')}`
  })
  return `${HEAD}\n${[...sections.filter((section) => section !== ''), settingsOf(byName), typesOf(files), tablesOf(files)].join('\n')}`

  function entryOf(object: SqlObject): string {
    const codes = codesOf(object, byName)
    const remarks = [
      ...(clients.has(object.name) ? ['A client may be given it (`grant_client_access`).'] : []),
      ...(codes.length > 0 ? [`May raise ${codes.map((code) => `[${code}](../errors/${code}.md)`).join(', ')}.`] : []),
    ]
    const remark = remarks.length === 0 ? '' : `\n${remarks.join(' ')}\n`
    return `### ${object.name}\n\n\`\`\`sql\n${object.signature}\n\`\`\`\n\n${object.comment}\n${remark}`
  }
}

const HEAD = `# SQL

What has no other schema before its name is in \`pgflow\`: flows that workers execute. \`starflow\` keeps the runs that runners execute
as a whole; its functions are what the engine's adapter calls, one for each method of its port. Parameter names are part of the interface: call by name where there are many. What begins with
an underscore is private. This page is written by \`npm run build:docs\` from \`packages/core/schemas\`.

Nothing is open by default: \`service_role\` may execute everything, and \`grant_client_access(role)\` opens what clients need. An error
carries a code of ours as its SQLSTATE, with message, detail and hint; each code has [a page](errors.md). A check that a table itself
makes (\`slug_is_valid\`, for example) is raised by Postgres under the check's name.
`

function objectsOf(sql: string): SqlObject[] {
  const comments = new Map(
    [...sql.matchAll(/comment on (?:function|view) (\w+\.\w+)[^']*? is\s+'((?:[^']|'')*)'/g)].map((match) => [
      shortName(match[1] as string),
      // A tag to Markdown, if it were left as it is.
      (match[2] as string).replaceAll("''", "'").replaceAll('<', '\\<'),
    ]),
  )
  const functions = [
    ...sql.matchAll(/create (?:or replace )?function (\w+\.\w+)\(([^$]*?)\)\s*returns ([^$]*?)\s*language/g),
  ]
  const views = [...sql.matchAll(/create (?:or replace )?view (\w+\.\w+)/g)]
  const objectOf = (name: string, kind: SqlObject['kind'], signature: string): SqlObject => ({
    ...{ name, kind, signature, body: sql },
    comment: comments.get(name) ?? '',
    isPrivate: /^(starflow\.)?_/.test(name),
  })
  return [
    ...functions.map(([, qualified, parameters, returns]) => {
      const name = shortName(qualified as string)
      const call = `${name}(${oneLine(parameters as string)})`
      return objectOf(name, 'function', `${call}\n  returns ${oneLine(returns as string)}`)
    }),
    ...views.map(([, qualified]) => objectOf(shortName(qualified as string), 'view', `select * from ${qualified}`)),
  ]
}

function shortName(qualified: string): string {
  return qualified.replace(/^pgflow\./, '')
}

function fullName({ name }: SqlObject): string {
  return name.includes('.') ? name : `pgflow.${name}`
}

/** The codes that the function raises, or one that it calls. */
function codesOf(root: SqlObject, byName: ReadonlyMap<string, SqlObject>): string[] {
  const codes = new Set<string>()
  const seen = new Set<string>()
  const visit = (object: SqlObject) => {
    if (seen.has(object.name)) return
    seen.add(object.name)
    const body = object.body.replaceAll(/--.*$/gm, '').replaceAll(/comment on [\s\S]*$/g, '')
    for (const [code] of body.matchAll(/(?<=')SF\d{3}(?=')/g)) {
      // A public function that another one calls is given arguments that are right.
      if (code !== 'SF001' || object === root || object.isPrivate) codes.add(code)
    }
    // What stands in quotes is the text of somebody else's call.
    for (const [called] of body.replaceAll(/'[^']*'/g, '').matchAll(/(?:pgflow|starflow)\.\w+(?=\()/g)) {
      const below = byName.get(shortName(called))
      if (below !== undefined) visit(below)
    }
  }
  visit(root)
  return [...codes].sort()
}

function settingsOf(byName: ReadonlyMap<string, SqlObject>): string {
  const body = byName.get('_known_settings')?.body ?? ''
  const rows = [...body.matchAll(/\('(\w+)', (null|'[^']*'), '([^']*)', '[^']*', (true|false)\)/g)].map(
    ([, key, value, allowed, isForSessions]) =>
      `| \`${key}\` | ${value === 'null' ? 'unset' : `\`${value?.slice(1, -1)}\``} | ${allowed} | ${isForSessions === 'true' ? `\`set pgflow.${key}\`` : ''} |`,
  )
  return `## The settings\n\n| key | default | values | a session's own |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

function typesOf(files: readonly SchemaFile[]): string {
  const types = files
    .flatMap((file) => [...file.sql.matchAll(/create type pgflow\.([a-z]\w*) as \(([^)]*)\)/g)])
    .map(([, name, columns]) => `- \`${name}\`: ${oneLine(columns as string)}`)
  return `## Rows that functions return\n\n${types.join('\n')}\n`
}

function tablesOf(files: readonly SchemaFile[]): string {
  const tables = files
    .flatMap((file) => [...file.sql.matchAll(/comment on table (\w+\.\w+) is\s+'((?:[^']|'')*)'/g)])
    .map(([, name, comment]) => `- \`${shortName(name as string)}\`: ${comment?.replaceAll("''", "'")}`)
  return `## Tables\n\nFor reading, and for nobody but the functions above to write.\n\n${tables.join('\n')}\n`
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}
